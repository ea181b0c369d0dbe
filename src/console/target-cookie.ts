import { createCookie } from "../http/cookie.ts";

const LIFETIME_SECONDS = 600;
/** A browser drops a cookie of more than 4096 bytes; base64 makes four of three. */
const LONGEST_TARGET = 2048;

/** The cookie that keeps which page of a workspace a person asked for, until they have signed in. */
export type TargetCookie = {
  /** Path and query of the page; null = none, or none that is a page of a workspace. */
  read(header: string | undefined): string | null;
  /** As a Set-Cookie header; null = the address is no page of a workspace. */
  write(target: string): string | null;
  /** The Set-Cookie header that removes it. */
  clear: string;
};

export function createTargetCookie(isSecure: boolean): TargetCookie {
  const { read, write, clear } = createCookie("returns-target", isSecure, LIFETIME_SECONDS);
  return {
    read: (header) => {
      const target = Buffer.from(read(header) ?? "", "base64url").toString();
      return isTarget(target) ? target : null;
    },
    write: (target) => (isTarget(target) ? write(Buffer.from(target).toString("base64url")) : null),
    clear,
  };
}

/** Visible ASCII without a backslash, which browsers read as a slash, and below /w/ once dots are resolved: no scheme or host. */
function isTarget(target: string): boolean {
  if (target.length > LONGEST_TARGET || !/^\/w\/[!-[\]-~]*$/u.test(target)) return false;
  const own = "http://localhost";
  const url = URL.parse(target, own);
  return url?.origin === own && url.pathname.startsWith("/w/");
}

import { createCookie } from "../http/cookie.ts";
import { isConsolePath } from "./console-path.ts";

const LIFETIME_SECONDS = 600;
/** Ends the address of a form that was sent: its page is the target, since the form itself is no page. */
export const SENT = "#sent";

/** The cookie that keeps which page a person asked for, until they have signed in. */
export type TargetCookie = {
  /** Path and query of the page; null = none, or none that is a page of the console. */
  read(header: string | undefined): string | null;
  /** As a Set-Cookie header; null = the address is no page of the console. */
  write(target: string): string | null;
  /** The Set-Cookie header that removes it. */
  clear: string;
};

export function createTargetCookie(isSecure: boolean): TargetCookie {
  const { read, write, clear } = createCookie("returns-target", isSecure, LIFETIME_SECONDS);
  return {
    read: (header) => {
      const target = Buffer.from(read(header) ?? "", "base64url").toString();
      return isConsolePath(target) ? target : null;
    },
    write: (target) => (isConsolePath(target) ? write(Buffer.from(target).toString("base64url")) : null),
    clear,
  };
}

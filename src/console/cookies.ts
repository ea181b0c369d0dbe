import { AUTHORIZE_PATH } from "../access/oauth.ts";
import type { Flow } from "../access/provider.ts";
import { createCookie, type Cookie } from "../http/cookie.ts";
import { sealText, unsealText } from "../lib/seal.ts";

/** Pages of the console outside workspaces. */
const OWN_PAGES: ReadonlySet<string> = new Set(["/me", "/operator", AUTHORIZE_PATH]);
/** As long as a cookie may keep: a browser drops one of more than 4096 bytes, and base64 makes four of three. */
export const LONGEST_TARGET = 2048;

/**
 * Whether a text is path and query of a page of the console, so that a redirect to it stays here: visible ASCII without a
 * backslash, which browsers read as a slash, and once dots are resolved below /w/ or one of the other pages; no scheme or host.
 */
export function isConsolePath(target: string): boolean {
  if (target.length > LONGEST_TARGET || !/^\/[a-z][!-[\]-~]*$/u.test(target)) return false;
  const own = "http://localhost";
  const url = URL.parse(target, own);
  if (url?.origin !== own) return false;
  return /^\/(?:w|operator)\//u.test(url.pathname) || OWN_PAGES.has(url.pathname);
}

const LIFETIME_SECONDS = 600;
/** Ends the address of a form that was sent: its page is the target, since the form itself is no page. */
export const SENT = "#sent";

/** The cookie that keeps path and query of the requested page until the person has signed in; null = it is no page of the console. */
export function createTargetCookie(isSecure: boolean) {
  const { read, write, clear } = createCookie("returns-target", isSecure, LIFETIME_SECONDS);
  return {
    read: (header: string | undefined): string | null => {
      const target = Buffer.from(read(header) ?? "", "base64url").toString();
      return isConsolePath(target) ? target : null;
    },
    write: (target: string): string | null =>
      isConsolePath(target) ? write(Buffer.from(target).toString("base64url")) : null,
    clear,
  };
}

/** The cookie that binds a sign-in at the identity provider to the browser that started it; null: none, not ours, or too old. */
export function createFlowCookie(isSecure: boolean, key: Buffer) {
  const { read, write, clear } = createCookie("returns-provider", isSecure, LIFETIME_SECONDS);
  const context = "sign-in at the identity provider";
  return {
    read: (header: string | undefined, now: Date) =>
      unsealText(key, context, read(header) ?? "", now) as Flow | null,
    write: (flow: Flow): string =>
      write(sealText(key, context, flow, flow.startedAt + LIFETIME_SECONDS * 1000)),
    clear,
  };
}

const DONE_LIFETIME_SECONDS = 60;
const LONGEST_BYTES = 2000;

/** Carries the sentence of an action over to the page that is shown next. */
export function createDoneCookie(isSecure: boolean): Cookie {
  const cookie = createCookie("returns-done", isSecure, DONE_LIFETIME_SECONDS);
  return {
    read: (header) => {
      const value = cookie.read(header) ?? "";
      return value === "" ? null : Buffer.from(value, "base64url").toString().toWellFormed();
    },
    write: (sentence) => cookie.write(Buffer.from(sentence).subarray(0, LONGEST_BYTES).toString("base64url")),
    clear: cookie.clear,
  };
}

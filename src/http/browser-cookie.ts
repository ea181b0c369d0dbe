import { randomBytes } from "node:crypto";
import { createCookie } from "./cookie.ts";
import type { Cookie } from "./cookie.ts";

const VALUE = /^[A-Za-z0-9_-]{43}$/u;
const LIFETIME_SECONDS = 600;

/** The cookie that identifies a browser while a merchant approves; what no `newBrowser` made is read as none. */
export type BrowserCookie = Pick<Cookie, "read" | "write">;

export function createBrowserCookie(isSecure: boolean): BrowserCookie {
  const { read, write } = createCookie("returns-approval", isSecure, LIFETIME_SECONDS);
  return {
    read: (header) => {
      const value = read(header) ?? "";
      return VALUE.test(value) ? value : null;
    },
    write,
  };
}

export function newBrowser(): string {
  return randomBytes(32).toString("base64url");
}

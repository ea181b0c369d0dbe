import { randomBytes } from "node:crypto";

const VALUE = /^[A-Za-z0-9_-]{43}$/u;
const LIFETIME_SECONDS = 600;

/**
 * The cookie that identifies a browser while a merchant approves. The prefix __Host- keeps other hosts of the
 * domain from setting it; it needs https, which a service on this machine alone may lack.
 */
export type BrowserCookie = {
  /** Of the browser that asks; null = it has none. */
  read(header: string | undefined): string | null;
  /** As a Set-Cookie header. */
  write(browser: string): string;
};

export function createBrowserCookie(isSecure: boolean): BrowserCookie {
  const name = isSecure ? "__Host-returns-approval" : "returns-approval";
  const attributes = `Path=/; Max-Age=${LIFETIME_SECONDS}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read: (header) => {
      const pairs = (header ?? "").split(";").map((pair) => pair.trim().split("="));
      const value = pairs.find(([key]) => key === name)?.[1] ?? "";
      return VALUE.test(value) ? value : null;
    },
    write: (browser) => `${name}=${browser}; ${attributes}`,
  };
}

export function newBrowser(): string {
  return randomBytes(32).toString("base64url");
}

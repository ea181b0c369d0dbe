import { createCookie } from "../http/cookie.ts";

/** Carries the sentence of an action over to the page that is shown next. */
export type DoneCookie = {
  read: (header: string | undefined) => string | null;
  write: (sentence: string) => string;
  clear: string;
};

const LIFETIME_SECONDS = 60;
const LONGEST_BYTES = 2000;

export function createDoneCookie(isSecure: boolean): DoneCookie {
  const cookie = createCookie("returns-done", isSecure, LIFETIME_SECONDS);
  return {
    read: (header) => {
      const value = cookie.read(header) ?? "";
      return value === "" ? null : Buffer.from(value, "base64url").toString().toWellFormed();
    },
    write: (sentence) => cookie.write(Buffer.from(sentence).subarray(0, LONGEST_BYTES).toString("base64url")),
    clear: cookie.clear,
  };
}

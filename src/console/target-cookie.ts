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
  const name = isSecure ? "__Host-returns-target" : "returns-target";
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read: (header) => {
      const pairs = (header ?? "").split(";").map((pair) => pair.trim().split("="));
      const value = pairs.find(([key]) => key === name)?.[1] ?? "";
      const target = Buffer.from(value, "base64url").toString();
      return isTarget(target) ? target : null;
    },
    write: (target) =>
      isTarget(target)
        ? `${name}=${Buffer.from(target).toString("base64url")}; ${attributes}; Max-Age=${LIFETIME_SECONDS}`
        : null,
    clear: `${name}=; ${attributes}; Max-Age=0`,
  };
}

/** Visible ASCII without a backslash, which browsers read as a slash, and below /w/ once dots are resolved: no scheme or host. */
function isTarget(target: string): boolean {
  if (target.length > LONGEST_TARGET || !/^\/w\/[!-[\]-~]*$/u.test(target)) return false;
  const own = "http://localhost";
  const url = URL.parse(target, own);
  return url?.origin === own && url.pathname.startsWith("/w/");
}

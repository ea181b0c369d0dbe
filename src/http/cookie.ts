/** A cookie of this service: of the whole site, out of the reach of scripts, and sent along from links of other sites. */
export type Cookie = {
  /** Its value in a Cookie header; null = it is not there. */
  read: (header: string | undefined) => string | null;
  /** As a Set-Cookie header. */
  write: (value: string) => string;
  /** The Set-Cookie header that removes it. */
  clear: string;
};

/**
 * On https the prefix __Host- keeps other hosts of the domain from setting it; on loopback, which has no https, Safari would
 * drop that name. The value is text without `=` and `;`.
 */
export function createCookie(ownName: string, isSecure: boolean, lifetimeSeconds: number): Cookie {
  const name = isSecure ? `__Host-${ownName}` : ownName;
  const line = (value: string, seconds: number): string =>
    `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read: (header) => {
      const pairs = (header ?? "").split(";").map((pair) => pair.trim().split("="));
      return pairs.find(([key]) => key === name)?.[1] ?? null;
    },
    write: (value) => line(value, lifetimeSeconds),
    clear: line("", 0),
  };
}

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
 * On https the prefix __Host- keeps other hosts of the domain from setting it; on loopback, without https, Safari would drop that
 * name. The value is text without `=` and `;`.
 */
export function createCookie(ownName: string, isSecure: boolean, lifetimeSeconds: number): Cookie {
  const name = isSecure ? `__Host-${ownName}` : ownName;
  const line = (value: string, seconds: number): string =>
    `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read: (header = "") => readCookie(header, name),
    write: (value) => line(value, lifetimeSeconds),
    clear: line("", 0),
  };
}

/** Browsers keep 4,096 bytes of a cookie. */
const LONGEST_VALUE = 4096;

/** The first cookie of this name; a header may have thirty thousand. */
function readCookie(header: string, name: string): string | null {
  const sought = `${name}=`;
  for (let at = header.indexOf(sought); at !== -1; at = header.indexOf(sought, at + sought.length)) {
    const end = header[at - 1] === " " ? at - 1 : at;
    if (end > 0 && header[end - 1] !== ";") continue;
    const start = at + sought.length;
    const [value = ""] = header.slice(start, start + LONGEST_VALUE + 1).split(/[;=]/u, 1);
    return value.length > LONGEST_VALUE ? null : value.trim();
  }
  return null;
}

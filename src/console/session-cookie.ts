/**
 * The cookie of a session. On https the prefix __Host- keeps other hosts of the domain from setting it; on loopback, which
 * has no https, Safari would drop that name.
 */
export type SessionCookie = {
  /** The session's secret, as the browser sends it; null = it has none. */
  read(header: string | undefined): string | null;
  /** As a Set-Cookie header. */
  write(session: string): string;
  /** The Set-Cookie header that removes it. */
  clear: string;
};

export function createSessionCookie(isSecure: boolean, longestSeconds: number): SessionCookie {
  const name = isSecure ? "__Host-returns" : "returns";
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read: (header) => {
      const pairs = (header ?? "").split(";").map((pair) => pair.trim().split("="));
      return pairs.find(([key]) => key === name)?.[1] ?? null;
    },
    write: (session) => `${name}=${session}; ${attributes}; Max-Age=${longestSeconds}`,
    clear: `${name}=; ${attributes}; Max-Age=0`,
  };
}

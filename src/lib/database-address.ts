import { isLoopbackHost } from "./loopback.ts";

/** Another machine's database over a connection that need not be encrypted. A path of a socket has no host. */
export function isReadableInTransit(databaseUrl: string): boolean {
  const url = URL.parse(databaseUrl);
  if (url === null) return false;
  const host = url.searchParams.get("host") ?? url.hostname;
  if (host === "" || host.startsWith("/") || isLoopbackHost(host)) return false;
  const mode = url.searchParams.get("sslmode") ?? (url.searchParams.get("ssl") === "true" ? "require" : "");
  return !["require", "verify-ca", "verify-full"].includes(mode);
}

import { isLoopbackHost } from "./networks.ts";

/** A Host of HTTP: a name or IPv4 address, or IPv6 in brackets, and a port. */
const HOST = /^(?<name>[^:]+|\[[^\]]*\])(?::\d{1,5})?$/u;

/**
 * The origin of the service's own pages for a request with this Host: `publicOrigin`, or, with null, http under the names of
 * this machine. null = no name of ours; anybody can point a name at this machine (DNS rebinding).
 */
export function ownOriginOf(host: string | undefined, publicOrigin: string | null): string | null {
  const name = host?.toLowerCase() ?? "";
  if (publicOrigin !== null) return name === new URL(publicOrigin).host ? publicOrigin : null;
  const hostName = HOST.exec(name)?.groups?.["name"] ?? "";
  return isLoopbackHost(hostName) ? `http://${name}` : null;
}

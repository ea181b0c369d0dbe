import { BlockList, isIP } from "node:net";

/** A network as options name it, such as 10.0.0.0/8. */
export type Network = readonly [address: string, prefix: number];

export function blockListOf(networks: readonly Network[]): BlockList {
  const blocks = new BlockList();
  for (const [address, prefix] of networks)
    blocks.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
  return blocks;
}

/** Whether a host, as an option, a URL or the Host of a request writes it, is this machine itself; it has no port. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/u.test(host);
}

/** Whether nobody on the way can read what is sent to an address. */
export function isHttpsOrLoopback(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname));
}

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

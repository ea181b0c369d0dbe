import { lookup, Resolver, type LookupAddress } from "node:dns";
import { isIP, type BlockList, type LookupFunction } from "node:net";
import { blockListOf } from "./networks.ts";

/** IPv4 that is not on the public internet, or that clouds answer with metadata at. */
const REFUSED_IPV4 = blockListOf([
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
]);
/** The only public part of IPv6. */
const PUBLIC_IPV6 = blockListOf([["2000::", 3]]);
/** Parts of it that are not public: documentation, and embedded IPv4 addresses (Teredo, 6to4). */
const REFUSED_IPV6 = blockListOf([
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
]);

/** How a message is to go, and the networks that the operator allows. */
export type Route = { protocol: string; allowed: BlockList };

/** Whether a message may be sent to an IP address: one in the operator's allowed networks, or over https a public one. */
export function isAllowed(address: string, { protocol, allowed }: Route): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0) return false;
  if (allowed.check(address, family)) return true;
  if (protocol !== "https:") return false;
  if (family === "ipv4") return !REFUSED_IPV4.check(address, family);
  return PUBLIC_IPV6.check(address, family) && !REFUSED_IPV6.check(address, family);
}

/** A receiver at a forbidden address. */
export class AddressRefused extends Error {
  override name = "AddressRefused";
}

/** All addresses of a name. */
export type Resolve = (
  name: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** As programs of this machine resolve it, with its hosts file; until there is an answer it holds one of the process's four threads. */
export const resolveByMachine: Resolve = (name, done) =>
  lookup(name, { all: true, verbatim: true }, (error, addresses) => done(error, addresses ?? []));

/** For names of strangers: by DNS alone, without a thread, however slowly a name's server answers. */
export const resolveByDns: Resolve = resolveByServers(null);

/** `servers`: addresses of DNS servers; null = those of this machine. */
export function resolveByServers(servers: readonly string[] | null): Resolve {
  return (name, done) => {
    // A new resolver reads the machine's current servers.
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    if (servers !== null) resolver.setServers(servers);
    const answers = new Map<4 | 6, { error: NodeJS.ErrnoException | null; addresses: LookupAddress[] }>();
    /** `found`: undefined where the look-up failed. */
    const take =
      (family: 4 | 6) => (error: NodeJS.ErrnoException | null, found: readonly string[] | undefined) => {
        answers.set(family, { error, addresses: (found ?? []).map((address) => ({ address, family })) });
        const [four, six] = [answers.get(4), answers.get(6)];
        if (four === undefined || six === undefined) return;
        const addresses = [...four.addresses, ...six.addresses];
        done(four.error !== null && addresses.length === 0 ? asOfMachine(four.error) : null, addresses);
      };
    resolver.resolve4(name, take(4));
    resolver.resolve6(name, take(6));
  };
}

/** With the code that `dns.lookup` has for it. */
function asOfMachine(error: NodeJS.ErrnoException): Error {
  const hasNone = error.code === "ENOTFOUND" || error.code === "ENODATA";
  return Object.assign(error, { code: hasNone ? "ENOTFOUND" : "EAI_AGAIN" });
}

/**
 * Resolves a name for one connection. The addresses that are checked are those that are connected to: a name that resolves to
 * another one a moment later gains nothing. One refused address among them refuses all.
 */
export function guardedLookup(resolve: Resolve, route: Route): LookupFunction {
  return (name, options, done) => {
    resolve(name, (error, addresses) => {
      if (error !== null) return done(error, []);
      if (addresses.length === 0 || addresses.some(({ address }) => !isAllowed(address, route)))
        return done(new AddressRefused(name), []);
      const [first] = addresses as [LookupAddress];
      if (options.all === true) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
}

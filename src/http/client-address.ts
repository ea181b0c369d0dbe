import type { IncomingMessage } from "node:http";
import { isIP, type BlockList } from "node:net";
import type { FastifyInstance } from "fastify";
import { blockListOf, type Network } from "../lib/networks.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Where it came from: for rate limits, audit and logs. */
    readonly clientAddress: string;
  }
}

/** Each names the one before it; no chain of ours is longer. */
const MOST_HOPS = 16;
const WITH_PORT = /^(?:\[(?<six>[0-9a-f:.]{2,45})\]|(?<four>[0-9.]{7,15}))(?::\d{1,5})?$/iu;
const FOR_PAIR = /^\s*for\s*=\s*(?:"(?<quoted>[^"\\]*)"|(?<token>[^\s"]+))\s*$/iu;
const MAPPED = /^::ffff:(?<high>[0-9a-f]{1,4}):(?<low>[0-9a-f]{1,4})$/u;

/** Gives every request of a server its client's address, read by the proxies that are trusted. */
export function addClientAddress(server: FastifyInstance, proxies: readonly Network[]): void {
  const trusted = blockListOf(proxies);
  server.decorateRequest("clientAddress", {
    getter() {
      return clientAddressOf(this.raw, trusted);
    },
  });
}

/**
 * The client's address of a request. A trusted proxy names its client: the lists are read from the right, as far as each hop is
 * trusted. Entries further left may be forged by the client, and so may the second list, if a proxy writes one and forwards the
 * other: if the two disagree, the nearest certain hop is the address.
 */
export function clientAddressOf({ socket, headers }: RequestHead, trusted: BlockList): string {
  const peer = readAddress(socket.remoteAddress ?? "");
  if (peer === null) return "unknown";
  if (!isTrusted(peer, trusted)) return peer;
  const { forwarded } = headers;
  const listed = headers["x-forwarded-for"]?.toString();
  const byList = listed === undefined ? null : walk(peer, listed, trusted, readAddress);
  const byPairs = forwarded === undefined ? null : walk(peer, forwarded, trusted, readForwarded);
  if (byList === null || byPairs === null) return byList ?? byPairs ?? peer;
  return byList === byPairs ? byList : peer;
}

type RequestHead = Pick<IncomingMessage, "headers"> & { socket: { remoteAddress?: string | undefined } };

/** An address that a header or socket names, with or without a port, in one spelling: IPv4 as such; null = it is none. */
export function readAddress(text: string): string | null {
  const given = text.trim();
  const groups = WITH_PORT.exec(given)?.groups;
  const [address = ""] = (groups?.["six"] ?? groups?.["four"] ?? given).split("%", 1);
  const family = isIP(address);
  if (family !== 6) return family === 4 ? address : null;
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const { high, low } = MAPPED.exec(plain)?.groups ?? {};
  if (high === undefined || low === undefined) return plain;
  const [left, right] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [left >> 8, left & 255, right >> 8, right & 255].join(".");
}

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 one, which belongs to a single customer. */
export function clientKeyOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [left = "", right] = address.split("::", 2);
  const groups = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const missing = right === undefined ? 0 : 8 - groups.length - tail.length;
  return [...groups, ...Array<string>(missing).fill("0"), ...tail].slice(0, 4).join(":");
}

function walk(
  peer: string,
  header: string,
  trusted: BlockList,
  read: (element: string) => string | null,
): string {
  let nearest = peer;
  let end = header.length;
  for (let hop = 0; hop < MOST_HOPS && end >= 0; hop++) {
    const comma = end === 0 ? -1 : header.lastIndexOf(",", end - 1);
    const address = read(header.slice(comma + 1, end));
    if (address === null) return nearest;
    nearest = address;
    if (!isTrusted(address, trusted)) return nearest;
    end = comma;
  }
  return nearest;
}

/** An element of `Forwarded` (RFC 7239), such as for="[2001:db8::17]:4711";proto=https; an obfuscated one is no address. */
function readForwarded(element: string): string | null {
  for (const pair of element.split(";", 8)) {
    const groups = FOR_PAIR.exec(pair)?.groups;
    if (groups !== undefined) return readAddress(groups["quoted"] ?? groups["token"] ?? "");
  }
  return null;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

import { shopKeyDigits } from "../../access/token.ts";
import type { Database } from "../../store/database.ts";
import { findShopKeyRange } from "../../store/queries/workspace-directory.ts";
import { findMove, listForeignShopKeys } from "./queries.ts";
import { invalid } from "../refusal.ts";

/** A line of a map: the tokens that begin so are passed to the address. */
const LINES = {
  nginx: (pattern: string, address: string) => `"~^${pattern}" ${address};`,
  caddy: (pattern: string, address: string) => `"~^${pattern}" ${address}`,
} as const;

type MapFormat = keyof typeof LINES;

export const MAP_FORMATS = Object.keys(LINES) as readonly MapFormat[];

const ADDRESS = /^[A-Za-z0-9.:/[\]_-]+$/u;

/** A proxy's mapping to an installation: regular expressions of the digits after `rta_live_`. */
type ProxyMap = { format: string; address: string; lines: string[] };

/**
 * The map of an installation: of the range of shop keys that it gives out, or of the workspaces that have moved here from
 * other ranges. Those come first in a proxy's configuration, since the first expression that matches counts.
 */
export async function proxyMap(
  database: Database,
  { format, address, ofRange }: { format: string; address: string; ofRange: boolean },
): Promise<ProxyMap> {
  const line = MAP_FORMATS.includes(format as MapFormat) ? LINES[format as MapFormat] : null;
  if (line === null) throw invalid(`<format> must be ${MAP_FORMATS.join(" or ")}.`);
  if (!ADDRESS.test(address)) throw invalid("<address> must be an address such as 10.0.0.2:8080.");
  const { first, last } = await findShopKeyRange(database);
  const patterns = ofRange
    ? prefixPatterns(shopKeyDigits(first), shopKeyDigits(last))
    : await listMovedHere(database, first, last);
  return { format, address, lines: patterns.map((pattern) => line(pattern, address)) };
}

/** A workspace that has moved on from here is another installation's. */
async function listMovedHere(database: Database, first: number, last: number): Promise<string[]> {
  const digits: string[] = [];
  for (const shopKey of await listForeignShopKeys(database, first, last)) {
    if ((await findMove(database, shopKey))?.moving_to === null) digits.push(shopKeyDigits(shopKey));
  }
  return digits;
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Regular expressions for the prefixes of texts in a range of one length, in base 62. */
export function prefixPatterns(first: string, last: string): string[] {
  if (/^0*$/u.test(first) && /^z*$/u.test(last)) return [""];
  const [least, most] = [DIGITS.indexOf(first.charAt(0)), DIGITS.indexOf(last.charAt(0))];
  const [belowFirst, belowLast] = [first.slice(1), last.slice(1)];
  const within = (digit: number, from: string, to: string): string[] =>
    prefixPatterns(from, to).map((pattern) => `${DIGITS[digit]}${pattern}`);
  if (least === most) return within(least, belowFirst, belowLast);
  const starts = within(least, belowFirst, "z".repeat(belowFirst.length));
  const ends = within(most, "0".repeat(belowLast.length), belowLast);
  const between = DIGITS.slice(least + 1, most);
  return [...starts, ...(between === "" ? [] : [`[${between}]`]), ...ends];
}

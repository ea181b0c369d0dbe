import { SourceFailed } from "../../connector.ts";
import { TITLE } from "./client.ts";
import type { LoopClient, LoopReturn, LoopWindow } from "./client.ts";
import { returnIdOf } from "./map-return.ts";

const DAY_MS = 86_400_000;
/** A day less than the API allows, which leaves room for rounding to seconds. */
export const LONGEST_MS = 119 * DAY_MS;
/** The API takes whole seconds. */
const SHORTEST_MS = 1000;
/** How often a second of several pages is read before it counts as unreadable. */
const MAX_PASSES = 8;

/** All returns that were updated from a moment to `end`. */
export type WindowRead = {
  returns: LoopReturn[];
  end: Date;
  /** What the next window should span. */
  nextMs: number;
};

/**
 * Reads the window that begins at `from` and spans `windowMs` or, where that holds more than one page, the beginning of
 * it that fits on one. A return that is updated leaves its window, and those behind it move up: the next page would
 * begin too late, and leave some out. One answer alone is of one moment. Throws as the client.
 */
export async function readWindow(
  client: LoopClient,
  place: { from: Date; until: Date; windowMs: number; pageSize: number },
): Promise<WindowRead> {
  const { from, until, pageSize } = place;
  for (let windowMs = place.windowMs; ;) {
    const end = new Date(Math.min(from.getTime() + windowMs, until.getTime()));
    const { returns, nextPageUrl } = await client.listReturns({ from, to: end }, null);
    if (nextPageUrl === null) {
      const hasRoom = returns.length * 2 <= pageSize;
      return { returns, end, nextMs: hasRoom ? Math.min(windowMs * 2, LONGEST_MS) : windowMs };
    }
    const spanMs = end.getTime() - from.getTime();
    if (spanMs <= SHORTEST_MS) {
      return { returns: await readInPasses(client, { from, to: end }), end, nextMs: windowMs };
    }
    windowMs = Math.max(SHORTEST_MS, Math.floor(spanMs / 2));
  }
}

/**
 * All returns of a window that is too short to be halved, page after page, until two passes name the same: a return that
 * left meanwhile is missing from the second. Throws `SourceFailed` when that does not come to pass.
 */
async function readInPasses(client: LoopClient, window: LoopWindow): Promise<LoopReturn[]> {
  const known = new Map<string, LoopReturn>();
  let before = new Set<string>();
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    const named = new Set<string>();
    for (let pageUrl: string | null = null, isLast = false; !isLast;) {
      const page = await client.listReturns(window, pageUrl);
      for (const returned of page.returns) {
        const returnId = returnIdOf(returned);
        named.add(returnId);
        known.set(returnId, returned);
      }
      pageUrl = page.nextPageUrl;
      isLast = pageUrl === null;
    }
    if (named.size === before.size && named.isSubsetOf(before)) return [...known.values()];
    before = named;
  }
  throw new SourceFailed(
    `${TITLE} has several pages of returns updated at ${window.from.toISOString()}, and they changed each time they were read.`,
  );
}

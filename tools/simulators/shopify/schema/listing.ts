/** Something a connection can page through and a bulk operation can read whole. */
export interface Listing<Item = unknown> {
  /** The items after the cursor, in order; `reverse` walks the other way. */
  from(after: string | undefined, reverse: boolean): Iterable<{ item: Item; cursor: string }>;
}

export interface PageArguments {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
  reverse?: boolean | null | undefined;
}

export interface ListingPage {
  edges: { node: unknown; cursor: string }[];
  nodes: unknown[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

export class PageError extends Error {}

const PAGE_LIMIT = 250;
/** Deeper paging is refused by the platform. */
const DEPTH_LIMIT = 25_000;

/** A page forward; paging backward is not served. */
export function pageOf(listing: Listing, page: PageArguments): ListingPage {
  const { first = null, last = null, after = null, before = null } = page;
  if (last !== null || before !== null) throw new PageError("The simulator pages forward only");
  if (first === null) throw new PageError("you must provide one of first or last");
  if (first < 0 || first > PAGE_LIMIT) throw new PageError(`first must be between 0 and ${PAGE_LIMIT}`);
  const edges: ListingPage["edges"] = [];
  let hasNextPage = false;
  for (const { item, cursor } of listing.from(after ?? undefined, page.reverse ?? false)) {
    if (edges.length === first) {
      hasNextPage = true;
      break;
    }
    edges.push({ node: item, cursor });
  }
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      hasNextPage,
      hasPreviousPage: after !== null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

export function wholeOf(listing: Listing): Pick<ListingPage, "edges"> {
  return { edges: [...listing.from(undefined, false)].map(({ item, cursor }) => ({ node: item, cursor })) };
}

/** Children of one object, by their place. */
export function listOf<Item>(items: readonly Item[]): Listing<Item> {
  return {
    *from(after, reverse) {
      const ordered = reverse ? items.toReversed() : items;
      const start = after === undefined ? 0 : readCursor(after, 1)[0] + 1;
      for (let index = start; index < ordered.length; index += 1) {
        yield { item: ordered[index] as Item, cursor: writeCursor([index]) };
      }
    },
  };
}

/** Items by a sort value that is kept beside them, then by number; a cursor survives changes of the items before it. */
export interface SortedItems<Item> {
  items: readonly Item[];
  values: Float64Array;
  numberOf: (item: Item) => number;
}

export function sortedList<Item>(sorted: SortedItems<Item>, matches: (item: Item) => boolean): Listing<Item> {
  const { items, values, numberOf } = sorted;
  return {
    *from(after, reverse) {
      const [value, number, depth] = after === undefined ? [undefined, 0, 0] : readCursor(after, 3);
      const step = reverse ? -1 : 1;
      let seen = depth;
      let index = reverse ? items.length - 1 : 0;
      if (value !== undefined) index = placeAfter(sorted, value, number, reverse);
      for (; index >= 0 && index < items.length; index += step) {
        const item = items[index] as Item;
        if (!matches(item)) continue;
        seen += 1;
        if (after !== undefined && seen > DEPTH_LIMIT) throw new PageError("pages end at 25,000 objects");
        yield { item, cursor: writeCursor([values[index] ?? 0, numberOf(item), seen]) };
      }
    },
  };
}

/** The index of the first item behind a cursor's place, by bisection. */
function placeAfter<Item>(
  sorted: SortedItems<Item>,
  value: number,
  number: number,
  reverse: boolean,
): number {
  const { items, values, numberOf } = sorted;
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const difference = (values[middle] ?? 0) - value || numberOf(items[middle] as Item) - number;
    if (reverse ? difference < 0 : difference <= 0) low = middle + 1;
    else high = middle;
  }
  return reverse ? low - 1 : low;
}

function writeCursor(values: number[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

function readCursor(cursor: string, length: number): [number, number, number] {
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    values = undefined;
  }
  const whole =
    Array.isArray(values) && values.length === length && values.every((value) => typeof value === "number");
  if (!whole) throw new PageError(`Invalid cursor: ${cursor}`);
  return values as [number, number, number];
}

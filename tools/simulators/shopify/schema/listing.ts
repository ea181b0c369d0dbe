/** A list that a connection can page through and a bulk operation can read completely. */
export interface Listing<Item = unknown> {
  /** The items after the cursor, in order, each with the values of its own cursor. */
  from(after?: string): Iterable<{ item: Item; place: number[] }>;
}

export type PageArguments = {
  first?: number | null;
  last?: number | null;
  after?: string | null;
  before?: string | null;
  reverse?: boolean | null;
};

type Edge = { node: unknown; readonly cursor: string };

export interface ListingPage {
  edges: Edge[];
  nodes: unknown[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

export class PageError extends Error {}

const PAGE_LIMIT = 250;
/** Deeper paging is refused by the platform. */
const DEPTH_LIMIT = 25_000;

/** A forward page; backward paging is not supported. */
export function pageOf(listing: Listing, page: PageArguments): ListingPage {
  const { first = null, last = null, after = null, before = null } = page;
  if (last !== null || before !== null || page.reverse === true)
    throw new PageError("The simulator pages forward only");
  if (first === null) throw new PageError("you must provide one of first or last");
  if (first < 0 || first > PAGE_LIMIT) throw new PageError(`first must be between 0 and ${PAGE_LIMIT}`);
  const edges: Edge[] = [];
  let hasNextPage = false;
  for (const entry of listing.from(after ?? undefined)) {
    if (edges.length === first) {
      hasNextPage = true;
      break;
    }
    edges.push(edgeOf(entry));
  }
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      hasNextPage,
      hasPreviousPage: after !== null,
      get startCursor() {
        return edges[0]?.cursor ?? null;
      },
      get endCursor() {
        return edges.at(-1)?.cursor ?? null;
      },
    },
  };
}

export function wholeOf(listing: Listing): Pick<ListingPage, "edges"> {
  return { edges: [...listing.from()].map(edgeOf) };
}

/** Few cursors are requested, so each is only written when needed. */
function edgeOf({ item, place }: { item: unknown; place: number[] }): Edge {
  return {
    node: item,
    get cursor() {
      return writeCursor(place);
    },
  };
}

/** Children of one object, by their index. */
export function listOf<Item>(items: readonly Item[]): Listing<Item> {
  return {
    *from(after) {
      const start = after === undefined ? 0 : readCursor(after, 1)[0] + 1;
      for (let index = start; index < items.length; index += 1) {
        yield { item: items[index] as Item, place: [index] };
      }
    },
  };
}

/** Items by a separately stored sort value, then by number; a cursor stays valid when earlier items change. */
export interface SortedItems<Item> {
  items: readonly Item[];
  values: Float64Array;
  numberOf: (item: Item) => number;
}

export function sortedList<Item>(sorted: SortedItems<Item>, matches: (item: Item) => boolean): Listing<Item> {
  const { items, values, numberOf } = sorted;
  return {
    *from(after) {
      const [value, number, depth] = after === undefined ? [-Infinity, 0, 0] : readCursor(after, 3);
      let seen = depth;
      for (let index = placeAfter(sorted, value, number); index < items.length; index += 1) {
        const item = items[index] as Item;
        if (!matches(item)) continue;
        seen += 1;
        if (after !== undefined && seen > DEPTH_LIMIT) throw new PageError("pages end at 25,000 objects");
        yield { item, place: [values[index] ?? 0, numberOf(item), seen] };
      }
    },
  };
}

/** The index of the first item after a cursor, by binary search. */
function placeAfter<Item>({ items, values, numberOf }: SortedItems<Item>, value: number, number: number) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const difference = (values[middle] ?? 0) - value || numberOf(items[middle] as Item) - number;
    if (difference <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
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

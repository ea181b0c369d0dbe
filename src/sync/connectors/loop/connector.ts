import Type from "typebox";
import { findLabels } from "../../../store/queries/label-record.ts";
import { SourceFailed, type SyncContext } from "../../connector.ts";
import { nullable, object, reader, Text } from "../shared/foreign.ts";
import { getJson, type JsonSource } from "../shared/http.ts";
import type { LabelPage, LabelSource } from "../shared/label-run.ts";
import { cleanLabel } from "../shared/text.ts";
import { labelIdsOf, mapReturn, RETURN, returnIdOf, TITLE, type LoopReturn } from "./map-return.ts";

const LIST_PATH = "api/2026-07/warehouse/return/list";

const readPage = reader(
  TITLE,
  object("ReturnList", { returns: Type.Array(RETURN), nextPageUrl: nullable(Text) }),
);

/** Returns by update time, both ends included, at most 120 days apart; without a state those that are open, closed or expired. */
export type LoopWindow = { from: Date; to: Date; state?: string | undefined };

/** The states that Loop lists only if asked for one of them. */
const UNLISTED_STATES = ["cancelled", "review"];

/** nextPageUrl null = the window's last page. */
type ReturnListPage = { returns: LoopReturn[]; nextPageUrl: string | null };

/** Asks Loop's API, 300 requests a minute. Throws as `getJson`, and `SourceFailed` for answers of another form. */
export type LoopClient = {
  /** The window's first page, or the one that a page before it named. */
  listReturns(window: LoopWindow, pageUrl: string | null): Promise<ReturnListPage>;
};

export function openLoop(source: JsonSource, pageSize: number): LoopClient {
  return {
    listReturns: async (window, pageUrl) => {
      const { baseUrl } = source;
      const url = pageUrl === null ? firstPageUrl(baseUrl, window, pageSize) : ownUrl(baseUrl, pageUrl);
      const page = readPage(await getJson(source, url));
      const next = cleanLabel(page.nextPageUrl ?? null);
      const nextPageUrl = next === null ? null : ownUrl(baseUrl, next).href;
      if (nextPageUrl === url.href) throw new SourceFailed(`${TITLE} returned a page as its own next page.`);
      return { returns: page.returns, nextPageUrl };
    },
  };
}

function firstPageUrl(baseUrl: URL, { from, to, state }: LoopWindow, pageSize: number): URL {
  const url = new URL(LIST_PATH, baseUrl);
  url.search = new URLSearchParams({
    from: momentText(Math.floor(from.getTime() / 1000)),
    to: momentText(Math.ceil(to.getTime() / 1000)),
    filter: "updated_at",
    ...(state === undefined ? {} : { state }),
    paginate: "true",
    pageSize: String(pageSize),
  }).toString();
  return url;
}

/** The form that the API documents: 2026-07-01 00:00:00+00:00. */
function momentText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")}+00:00`;
}

/** A page's address inside the API: the key is sent to no other host, whatever an answer says. */
function ownUrl(baseUrl: URL, text: string): URL {
  const url = URL.parse(text, baseUrl);
  if (url?.origin !== baseUrl.origin) {
    throw new SourceFailed(`${TITLE} returned a next page on another host, which is not allowed.`);
  }
  return url;
}

const DAY_MS = 86_400_000;
/** A day less than the API allows, which leaves room for rounding to seconds. */
const LONGEST_MS = 119 * DAY_MS;
/** The API takes whole seconds. */
const SHORTEST_MS = 1000;
/** How often a second of several pages is read before it counts as unreadable. */
const MAX_PASSES = 8;

/** All returns that were updated from a moment to `end`. */
type WindowRead = {
  returns: LoopReturn[];
  end: Date;
  /** The length of the next window. */
  nextMs: number;
};

/**
 * Reads the window of `windowMs` from `begin` on, or, if that has more than one page, its beginning that fits on one. An updated
 * return leaves its window, and those behind it move up: the next page would begin too late, and miss some. Only a single answer
 * is consistent. Throws as the client.
 */
export async function readWindow(
  client: LoopClient,
  place: { from: Date; until: Date; windowMs: number; pageSize: number; state?: string },
): Promise<WindowRead> {
  const { from, until, pageSize, state } = place;
  for (let windowMs = place.windowMs; ;) {
    const end = new Date(Math.min(from.getTime() + windowMs, until.getTime()));
    const { returns, nextPageUrl } = await client.listReturns({ from, to: end, state }, null);
    if (nextPageUrl === null) {
      const hasRoom = returns.length * 2 <= pageSize;
      return { returns, end, nextMs: hasRoom ? Math.min(windowMs * 2, LONGEST_MS) : windowMs };
    }
    const spanMs = end.getTime() - from.getTime();
    if (spanMs <= SHORTEST_MS) {
      return { returns: await readInPasses(client, { from, to: end, state }), end, nextMs: windowMs };
    }
    windowMs = Math.max(SHORTEST_MS, Math.floor(spanMs / 2));
  }
}

/**
 * All returns of a window too short to be halved, page by page, until two passes return the same ones: a return that left
 * meanwhile is missing from the second. Throws `SourceFailed` if that never happens.
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

const SOURCE = "loop";
/** Overlap with the previous run, for answers that lag behind. */
const OVERLAP_MS = 600_000;
/** How far back a shop without orders is read. */
const BLIND_YEARS = 5;

/** Returns updated from `since` to `until` have been read, in every state; without `until`, which earlier versions did not store, in some. */
type Cursor = { since: string; until?: string };

type Position = {
  /** "all states since …" or "new". */
  scope: string;
  since: string;
  /** The next window begins here. */
  from: string;
  /** When the run began: it reads no further. */
  until: string;
  /** The length of the next window. */
  windowMs: number;
  done: number;
};

/**
 * Return labels of Loop, by update time of their return. The first run reads from the shop's first order on, later ones only
 * updated returns.
 */
export const LOOP: LabelSource<Cursor, Position> = {
  source: SOURCE,
  title: TITLE,
  summary: "Label costs of Loop.",
  address: "https://api.loopreturns.com",
  keyPlace: "Returns Management → Tools & integrations → Developer Tools",
  keyHeader: "X-Authorization",
  pageSize: 250,
  open: (source, pageSize) => {
    const client = openLoop(source, pageSize);
    return {
      begin,
      readPage: (position, _cursor, context) => readNext(client, pageSize, position, context),
      cursorOf: ({ since, until }) => ({ since, until }),
    };
  },
  check: (source) => {
    const to = new Date();
    return openLoop(source, 1).listReturns({ from: new Date(to.getTime() - 86_400_000), to }, null);
  },
};

function begin(cursor: Cursor | null, firstMonth: string | null, context: SyncContext): Position {
  const now = context.now();
  const blind = `${now.getUTCFullYear() - BLIND_YEARS}-01-01`;
  const since = `${firstMonth ?? blind}T00:00:00.000Z`;
  const start = { until: now.toISOString(), windowMs: LONGEST_MS, done: 0 };
  if (cursor?.until === undefined || context.kind === "backfill" || since < cursor.since) {
    return { ...start, scope: `all states since ${since}`, since, from: since };
  }
  const from = new Date(Date.parse(cursor.until) - OVERLAP_MS).toISOString();
  return { ...start, scope: "new", since: cursor.since, from };
}

async function readNext(
  client: LoopClient,
  pageSize: number,
  position: Position,
  { database, shopKey }: SyncContext,
): Promise<LabelPage<Position>> {
  const { windowMs } = position;
  const [from, until] = [new Date(position.from), new Date(position.until)];
  const { returns, end, nextMs } = await readWindow(client, { from, until, windowMs, pageSize });
  for (const state of UNLISTED_STATES) {
    for (let [at, stateMs] = [from, LONGEST_MS]; at < end;) {
      const read = await readWindow(client, { from: at, until: end, windowMs: stateMs, pageSize, state });
      returns.push(...read.returns);
      [at, stateMs] = [read.end, read.nextMs];
    }
  }
  const stored = await findLabels(database, shopKey, SOURCE, returns.flatMap(labelIdsOf));
  const done = position.done + returns.length;
  return {
    records: returns.map((returned) => mapReturn(returned, stored)),
    position: { ...position, from: end.toISOString(), windowMs: nextMs, done },
    isLast: end.getTime() >= until.getTime(),
    done,
    total: null,
  };
}

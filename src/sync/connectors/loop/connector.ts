import { findLabels } from "../../../store/queries/label-record.ts";
import type { SyncContext } from "../../connector.ts";
import type { LabelPage, LabelSource } from "../kit/label-run.ts";
import { openLoop, TITLE } from "./client.ts";
import type { LoopClient } from "./client.ts";
import { labelIdsOf, mapReturn } from "./map-return.ts";
import { LONGEST_MS, readWindow } from "./read-window.ts";

const SOURCE = "loop";
/** What a run reads again of the time before it, for answers that lag behind. */
const OVERLAP_MS = 600_000;
/** How far back a shop without orders is read. */
const BLIND_YEARS = 5;

/** Returns updated from `since` to `readUntil` have been read. */
type Cursor = { since: string; readUntil: string };

type Position = {
  /** "all since …" or "new". */
  scope: string;
  since: string;
  /** The next window begins here. */
  from: string;
  /** When the run began: it reads no further. */
  until: string;
  /** What the next window spans. */
  windowMs: number;
  done: number;
};

/**
 * Return labels of Loop, by when their return was updated. The first run reads from the shop's first order on, later
 * ones what was updated since.
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
      // Another page size may be in use by now: what fits on a page is determined again.
      resume: (position) => ({ ...position, windowMs: LONGEST_MS }),
      readPage: (position, _cursor, context) => readNext(client, pageSize, position, context),
      cursorOf: (position) => ({ since: position.since, readUntil: position.until }),
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
  if (cursor === null || context.kind === "backfill" || since < cursor.since) {
    return { ...start, scope: `all since ${since}`, since, from: since };
  }
  const from = new Date(Date.parse(cursor.readUntil) - OVERLAP_MS).toISOString();
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

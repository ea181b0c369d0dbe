import { findLabels } from "../../../store/queries/label-record.ts";
import type { Connector, SyncContext } from "../../connector.ts";
import { runLabelSync } from "../kit/label-run.ts";
import type { LabelPage, LabelReader, SaidRecord } from "../kit/label-run.ts";
import type { SaidFields } from "../kit/said-fields.ts";
import { openShipStation, SHIPSTATION_OPTIONS, TITLE } from "./client.ts";
import type { ShipStationClient, ShipStationOptions } from "./client.ts";
import { extendHead, headEntry, isSettled, settle, UNSETTLED } from "./list-head.ts";
import type { ListHead, Settling } from "./list-head.ts";
import { readLabel } from "./read-label.ts";

const SOURCE = "shipstation";
const BEGINNING = "2000-01-01T00:00:00.000Z";
const DAY_MS = 86_400_000;
/** Labels this young are read again every day, whether they moved in the list or not. */
const RECENT_DAYS = 180;

/** Labels created since `since` have been read; `head` is the beginning of their list. */
type Cursor = { since: string; head: ListHead; rereadAt: string };

type Position = Settling & {
  /** "all since …", "recent" or "new". */
  scope: string;
  since: string;
  /** When the run began. */
  beganAt: string;
  page: number;
  /** Labels read so far, those of other kinds included. */
  done: number;
  /** The entries read so far. */
  head: ListHead;
};

/**
 * Return labels of ShipStation V2. The first run reads every label since the shop's first order; later ones read the
 * list, which begins with what was modified last, until it has not changed; once a day all young labels.
 */
export function createShipStationConnector(options: Partial<ShipStationOptions> = {}): Connector {
  return {
    source: SOURCE,
    kind: "label_cost",
    sync: async (context) => {
      const { apiKey } = await context.credentials.read();
      const place = { url: context.settings["url"], apiKey, signal: context.signal };
      const client = openShipStation(place, { ...SHIPSTATION_OPTIONS, ...options });
      return runLabelSync(context, createReader(client));
    },
  };
}

function createReader(client: ShipStationClient): LabelReader<Cursor, Position> {
  return {
    source: SOURCE,
    title: TITLE,
    begin,
    resume: (position) => position,
    readPage: (position, cursor, context) => readPage(client, position, cursor, context),
    cursorOf: (position, cursor) => {
      // A list of young labels only leaves out old ones between them: it is no head to compare with.
      if (position.scope === "recent" && cursor !== null) return { ...cursor, rereadAt: position.beganAt };
      const { since, beganAt } = position;
      const head = extendHead(position.head, position.scope === "new" ? (cursor?.head ?? []) : []);
      return { since, head, rereadAt: position.scope === "new" && cursor ? cursor.rereadAt : beganAt };
    },
  };
}

function begin(cursor: Cursor | null, firstMonth: string | null, context: SyncContext): Position {
  const now = context.now();
  const start = { ...UNSETTLED, beganAt: now.toISOString(), page: 1, done: 0, head: [] };
  const since = firstMonth === null ? BEGINNING : `${firstMonth}T00:00:00.000Z`;
  if (cursor === null || context.kind === "backfill" || since < cursor.since) {
    return { ...start, scope: `all since ${since}`, since };
  }
  if (now.getTime() - Date.parse(cursor.rereadAt) < DAY_MS) {
    return { ...start, scope: "new", since: cursor.since };
  }
  const recent = new Date(now.getTime() - RECENT_DAYS * DAY_MS).toISOString();
  return { ...start, scope: "recent", since: recent < cursor.since ? cursor.since : recent };
}

async function readPage(
  client: ShipStationClient,
  position: Position,
  cursor: Cursor | null,
  context: SyncContext,
): Promise<LabelPage<Position>> {
  const { labels, total, isLast } = await client.listLabels(position.since, position.page);
  const records = await readRecords(client, labels, context);
  const entries = labels.map(headEntry);
  const done = position.done + labels.length;
  const settling =
    position.scope === "new" && cursor !== null ? settle(position, entries, cursor.head) : UNSETTLED;
  return {
    records,
    position: {
      ...position,
      ...settling,
      page: position.page + 1,
      done,
      head: extendHead(position.head, entries),
    },
    isLast: isLast || isSettled(settling),
    done,
    total,
  };
}

async function readRecords(
  client: ShipStationClient,
  labels: readonly SaidFields[],
  { database, shopKey }: SyncContext,
): Promise<SaidRecord[]> {
  const ids = labels.map((label) => label.text("label_id"));
  const stored = await findLabels(database, shopKey, SOURCE, ids);
  const records: SaidRecord[] = [];
  for (const label of labels) {
    const record = await readLabel(label, stored, (labelId) => client.track(labelId));
    if (record !== null) records.push(record);
  }
  return records;
}

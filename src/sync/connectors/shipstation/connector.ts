import { isDeepStrictEqual } from "node:util";
import Type from "typebox";
import { findLabels, type StoredLabel } from "../../../store/queries/label-record.ts";
import { SourceFailed, type SyncContext } from "../../connector.ts";
import { object, reader, Whole } from "../shared/foreign.ts";
import { getJson, type JsonSource } from "../shared/http.ts";
import type { LabelPage, LabelSource, SourceRecord } from "../shared/label-run.ts";
import {
  extendHead,
  headEntry,
  isSettled,
  settle,
  UNSETTLED,
  type ListHead,
  type Settling,
} from "./list-head.ts";
import { LABEL, mapLabel, readTracking, TITLE, type ShipStationLabel, type Tracking } from "./map-label.ts";

const readLabels = reader(
  TITLE,
  object("LabelList", { labels: Type.Array(LABEL), total: Whole, pages: Whole }),
);

/** One page of the labels created since a moment (ISO 8601), the one modified last first. */
type LabelListPage = { labels: ShipStationLabel[]; total: number; isLast: boolean };

/** Asks ShipStation's API V2, 200 requests a minute. Throws as `getJson`, and `SourceFailed` for answers of another form. */
export type ShipStationClient = {
  listLabels(createdSince: string, page: number): Promise<LabelListPage>;
  /** The carrier's report on one label. */
  track(labelId: string): Promise<Tracking>;
};

export function openShipStation(source: JsonSource, pageSize: number): ShipStationClient {
  return {
    listLabels: async (createdSince, page) => {
      const url = new URL("v2/labels", source.baseUrl);
      url.search = new URLSearchParams({
        created_at_start: createdSince,
        sort_by: "modified_at",
        sort_dir: "desc",
        page: String(page),
        page_size: String(pageSize),
      }).toString();
      const { labels, ...answer } = readLabels(await getJson(source, url));
      const pages = Number(answer.pages);
      if (labels.length === 0 && page < pages) {
        throw new SourceFailed(`${TITLE} sent an empty page ${page} of ${pages}.`);
      }
      return { labels, total: Number(answer.total), isLast: page >= pages };
    },
    track: async (labelId) => {
      const url = new URL(`v2/labels/${encodeURIComponent(labelId)}/track`, source.baseUrl);
      return readTracking(await getJson(source, url));
    },
  };
}

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
  /** Labels read so far, including other kinds. */
  done: number;
  /** The entries read so far. */
  head: ListHead;
};

/**
 * Return labels of ShipStation V2. The first run reads every label since the shop's first order; later ones read the list, most
 * recently modified first, until it is unchanged; once a day all recent labels.
 */
export const SHIPSTATION: LabelSource<Cursor, Position> = {
  source: SOURCE,
  title: TITLE,
  summary: "Label costs of ShipStation (API V2).",
  address: "https://api.shipstation.com",
  keyPlace: "Settings → API Settings",
  keyHeader: "api-key",
  pageSize: 100,
  open: (source, pageSize) => {
    const client = openShipStation(source, pageSize);
    return {
      begin,
      readPage: (position, cursor, context) => readPage(client, position, cursor, context),
      cursorOf,
    };
  },
  check: (source) => openShipStation(source, 1).listLabels(BEGINNING, 1),
};

function cursorOf(position: Position, cursor: Cursor | null): Cursor {
  // A list of young labels only leaves out old ones between them: it is no head to compare with.
  if (position.scope === "recent" && cursor !== null) return { ...cursor, rereadAt: position.beganAt };
  const { since, beganAt } = position;
  const head = extendHead(position.head, position.scope === "new" ? (cursor?.head ?? []) : []);
  return { since, head, rereadAt: position.scope === "new" && cursor ? cursor.rereadAt : beganAt };
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
  const entries = labels.map(headEntry);
  const done = position.done + labels.length;
  const settling =
    position.scope === "new" && cursor !== null ? settle(position, entries, cursor.head) : UNSETTLED;
  return {
    records: await readRecords(client, labels, context, position),
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
  labels: readonly ShipStationLabel[],
  { database, shopKey }: SyncContext,
  { scope, page }: Position,
): Promise<SourceRecord[]> {
  const ids = labels.map((label) => label.label_id);
  const stored = await findLabels(database, shopKey, SOURCE, ids);
  const records: SourceRecord[] = [];
  for (const label of labels) {
    const record = await mapLabel(label, stored, (labelId) => client.track(labelId));
    if (record !== null) records.push(record);
  }
  // Most runs find the first page unchanged. A further one may repeat labels that this run has staged.
  return scope === "new" && page === 1
    ? records.filter((record) => !isStored(record, stored.get(record.recordId)))
    : records;
}

function isStored({ labels: [label] }: SourceRecord, stored: StoredLabel | undefined): boolean {
  if (label === undefined || stored === undefined) return label === stored;
  return isDeepStrictEqual(label, {
    labelId: stored.label_id,
    orderId: stored.source_order_id,
    returnId: stored.source_return_id,
    orderName: stored.source_order_name,
    trackingNumber: stored.tracking_number,
    chargedAt: stored.charged_at.toISOString(),
    amountMinor: stored.amount_minor,
    currencyCode: stored.currency_code,
    voidedAt: stored.voided_at?.toISOString() ?? null,
  });
}

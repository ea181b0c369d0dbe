import { currencyExponent } from "../../../lib/currency.ts";
import { decimalText } from "../../../metrics/money.ts";
import type { Connection } from "../../../store/database.ts";
import { findConnection, setCursor } from "../../../store/queries/data-source.ts";
import { planForRun } from "../../../store/query.ts";
import { hasWork } from "../../../store/queries/dirty-month.ts";
import { lockWorkspaceForRun } from "../../../store/queries/import-stage.ts";
import {
  countLabels,
  findFirstMonth,
  findProgress,
  insertRecords,
  openRecordLabels,
  openUnnamedLabels,
  putProgress,
  type LabelTotals,
} from "../../../store/queries/label-record.ts";
import { clearRecords } from "../../../store/queries/sync-record.ts";
import { applyStage } from "../../apply.ts";
import type { Connector, Secrets, Source, SyncContext, SyncOutcome } from "../../connector.ts";
import { publishLabelRun } from "../../publish.ts";
import {
  CHECK_POLICY,
  readApiKey,
  readBaseUrl,
  RETRY_POLICY,
  type JsonSource,
  type RetryPolicy,
} from "./http.ts";

/** A label that was charged, as its source names it. Times are ISO 8601. */
export type SourceLabel = {
  labelId: string;
  orderId: string | null;
  returnId: string | null;
  orderName: string | null;
  trackingNumber: string | null;
  chargedAt: string;
  amountMinor: number;
  currencyCode: string;
  voidedAt: string | null;
};

/**
 * A source's report of one record: all of its charged labels. A label's id is the record's, or begins with it and a colon: stored
 * labels of the record that are no longer listed are removed.
 */
export type SourceRecord = { recordId: string; labels: SourceLabel[] };

/** A run's position between two pages. `scope` names its content: only a run of the same scope resumes it. */
type LabelPosition = { scope: string };

export type LabelPage<Position> = {
  records: SourceRecord[];
  /** Where the next page begins; after the last page, where the run ended. */
  position: Position;
  isLast: boolean;
  /** Labels or records read so far and in all, for progress; total null = unknown. */
  done: number;
  total: number | null;
};

/** The differences between label sources. `Cursor` is the stored state of the last successful run. */
type LabelReader<Cursor, Position extends LabelPosition> = {
  /** `firstMonth`: first day of the workspace's first order month, null without orders; cursor null before the first run. */
  begin(cursor: Cursor | null, firstMonth: string | null, context: SyncContext): Position;
  readPage(position: Position, cursor: Cursor | null, context: SyncContext): Promise<LabelPage<Position>>;
  cursorOf(position: Position, cursor: Cursor | null): Cursor;
};

/** A source of label costs with pages of JSON and an API key. */
export type LabelSource<Cursor, Position extends LabelPosition> = {
  source: string;
  title: string;
  summary: string;
  address: string;
  /** Where its API keys are created: "Settings → API Settings". */
  keyPlace: string;
  keyHeader: string;
  pageSize: number;
  open(source: JsonSource, pageSize: number): LabelReader<Cursor, Position>;
  /** One small request. */
  check(source: JsonSource): Promise<unknown>;
};

type LabelOptions = { pageSize: number; retryPolicy: RetryPolicy };

/** The connector of a label source; `options` replace the defaults. */
export function labelConnector<Cursor, Position extends LabelPosition>(
  definition: LabelSource<Cursor, Position>,
  options: Partial<LabelOptions> = {},
): Connector & Source {
  const { source, title, summary, address, pageSize } = definition;
  const { retryPolicy = RETRY_POLICY } = options;
  return {
    source,
    title,
    summary,
    address,
    kind: "label_cost",
    shops: null,
    key: { secret: "apiKey", title: "API key", help: null },
    otherSecrets: [],
    options: [],
    checkSettings: () => {},
    registerWebhooks: null,
    deletionsFound: "",
    check: async ({ url, secrets, signal }) => {
      await definition.check(openJson(definition, { url, secrets, signal }, CHECK_POLICY));
      return { account: null, currencyCode: null, notes: [] };
    },
    sync: async (context) => {
      const place = { url: context.settings["url"], secrets: await context.credentials.read() };
      const json = openJson(definition, { ...place, signal: context.signal }, retryPolicy);
      const reader = definition.open(json, options.pageSize ?? pageSize);
      return runLabelSync(context, { source, title, ...reader });
    },
  };
}

/** `url` undefined = the source's own address. Throws when the key may not go there, or is none. */
export function openJson(
  definition: Pick<LabelSource<never, never>, "title" | "address" | "keyPlace" | "keyHeader">,
  { url, secrets, signal }: { url: unknown; secrets: Secrets; signal: AbortSignal },
  retryPolicy: RetryPolicy,
): JsonSource {
  const { title, address, keyPlace, keyHeader } = definition;
  const baseUrl = readBaseUrl(url, address, title);
  const headers = { [keyHeader]: readApiKey(secrets["apiKey"], title) };
  return { title, keyPlace, baseUrl, headers, signal, retryPolicy };
}

/**
 * A run of a label source: page by page into sync_record, then, in a final transaction, from there to the served data, with the
 * source's as-of and cursor. An interrupted run resumes at the first page that is not stored; until the end served data does not
 * change. The store's as-of is unchanged (M5).
 */
async function runLabelSync<Cursor, Position extends LabelPosition>(
  context: SyncContext,
  reader: NamedReader<Cursor, Position>,
): Promise<SyncOutcome> {
  const { database, shopKey, signal } = context;
  const { source } = reader;
  const cursor = context.cursor as Cursor | null;
  const start = await findStart(context, reader, cursor);
  let position = start.position;
  for (let isLast = start.isLast; !isLast;) {
    signal.throwIfAborted();
    const page = await reader.readPage(position, cursor, context);
    ({ position, isLast } = page);
    // After a last page without records there is nothing to continue.
    if (!isLast || page.records.length > 0) {
      await database.transaction(async (connection) => {
        await insertRecords(connection, shopKey, source, page.records);
        await putProgress(connection, shopKey, source, { ...start, position, isLast });
      }, signal);
    }
    context.progress({ stage: "labels", done: page.done, total: page.total });
  }
  const next = reader.cursorOf(position, cursor);
  const asOf = new Date(start.startedAt);
  const applied = await database.transaction(
    (connection) => applyRecords(connection, context, { source, asOf, cursor: next }),
    signal,
  );
  return outcomeOf(applied, context.currencyCode, reader.title);
}

type NamedReader<Cursor, Position extends LabelPosition> = LabelReader<Cursor, Position> & {
  source: string;
  title: string;
};

type Start<Position> = { startedAt: string; position: Position; isLast: boolean };

/** Where the run that was cut off stopped, when it read the same; else the beginning. */
async function findStart<Cursor, Position extends LabelPosition>(
  context: SyncContext,
  reader: NamedReader<Cursor, Position>,
  cursor: Cursor | null,
): Promise<Start<Position>> {
  const { database, shopKey } = context;
  const firstMonth = await findFirstMonth(database, shopKey);
  const position = reader.begin(cursor, firstMonth, context);
  const left = (await findProgress(database, shopKey, reader.source)) as Start<Position> | null;
  if (left?.position.scope === position.scope) return left;
  await clearRecords(database, shopKey, reader.source);
  return { startedAt: context.now().toISOString(), position, isLast: false };
}

type AppliedLabels = LabelTotals & { read: number; changed: number; isChanged: boolean };

async function applyRecords(
  connection: Connection,
  context: SyncContext,
  end: { source: string; asOf: Date; cursor: unknown },
): Promise<AppliedLabels> {
  const { shopKey, currencyCode } = context;
  const { source, asOf } = end;
  await lockWorkspaceForRun(connection, shopKey);
  const before = await findConnection(connection, shopKey, source);
  const { changes, labels, dirtyMonths } = (await hasWork(connection, shopKey, source))
    ? await applyLabels(connection, context, source)
    : NOTHING;
  const totals = await countLabels(connection, shopKey, source, currencyCode);
  // Whether the source is usable is part of every answer, labels or not.
  const isFirst = (before?.last_synced_at ?? null) === null;
  const isOtherCurrency = before?.currency_code !== (totals.foreign_currency_code ?? currencyCode);
  // Months that waited since a migration are answered in another way from now on.
  const isChanged = changes + dirtyMonths.length > 0 || isFirst || isOtherCurrency;
  await publishLabelRun(connection, { shopKey, source, asOf, currencyCode, isChanged });
  await setCursor(connection, shopKey, source, end.cursor);
  await clearRecords(connection, shopKey, source);
  return { ...totals, read: labels.read, changed: changes, isChanged };
}

const NOTHING = { changes: 0, labels: { read: 0 }, dirtyMonths: [] };

async function applyLabels(connection: Connection, context: SyncContext, source: string) {
  const { shopKey, currencyCode } = context;
  await planForRun(connection, "large");
  const gone = await openUnnamedLabels(connection, shopKey, source);
  return applyStage({
    connection,
    shopKey,
    currencyCode,
    hasCatalogue: false,
    labels: { source, gone, next: await openRecordLabels(connection, shopKey, source) },
    orders: null,
    onProgress: (stage, done) => context.progress({ stage, done, total: null }),
  });
}

/** labels: read by this run; changed_labels: new, different or gone; the others: of all that the source has stored. */
function outcomeOf(applied: AppliedLabels, currencyCode: string, title: string): SyncOutcome {
  const { read, changed, voided, unmatched, foreign, isChanged } = applied;
  const notes: string[] = [];
  if (applied.foreign_currency_code !== null) {
    notes.push(
      `${title} has labels in ${applied.foreign_currency_code} and the shop's currency is ${currencyCode}: its label costs are not counted.`,
    );
  }
  if (unmatched > 0) {
    const amount = decimalText(applied.unmatched_minor, currencyExponent(currencyCode));
    const labels =
      unmatched === 1 ? `1 label of ${title} that belongs` : `${unmatched} labels of ${title} that belong`;
    notes.push(`Unmatched spend: ${amount} ${currencyCode}, ${labels} to no known returned line.`);
  }
  return { counts: { labels: read, changed_labels: changed, voided, unmatched, foreign }, notes, isChanged };
}

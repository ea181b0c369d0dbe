import type { Connection, Queryable } from "../database.ts";
import { command, cursor, query, queryValue, requireRow } from "../query.ts";
import type { LabelRow } from "./label-write.ts";

/** How far an unfinished run of a label source came, in its own format; null = there is none. Primary key. */
export const findProgress = queryValue<unknown, [shopKey: number, source: string]>(
  "find_label_progress",
  `select record::json from sync_record
          where shop_key = $1 and source = $2 and part = 'progress' and record_number = 0`,
);

/** Remembers how far a run came, with the records it has read so far. */
export const putProgress = command<[shopKey: number, source: string, progress: unknown], Connection>(
  "put_label_progress",
  `insert into sync_record (shop_key, source, part, record_number, record)
         values ($1, $2, 'progress', 0, $3)
         on conflict (shop_key, source, part, record_number) do update set record = excluded.record`,
  (shopKey, source, progress) => [shopKey, source, JSON.stringify(progress)],
);

/** One record of a source: all labels it names now, as a JSON list. */
type LabelRecord = { recordId: string; labels: readonly unknown[] };

/** Stores a source's records until the run applies them. */
export const insertRecords = command<
  [shopKey: number, source: string, records: readonly LabelRecord[]],
  Connection
>(
  "insert_label_records",
  `insert into sync_record (shop_key, source, part, record_id, record)
         select $1, $2, 'labels', r.record_id, r.record
           from unnest($3::text[], $4::text[]) with ordinality as r (record_id, record, place)
          order by r.place`,
  (shopKey, source, records) => [
    shopKey,
    source,
    records.map(({ recordId }) => recordId),
    records.map(({ labels }) => JSON.stringify(labels)),
  ],
);

/** Of a record that came several times the last one counts. */
const LAST_RECORDS = `
         select distinct on (r.record_id) r.record_id, r.record
           from sync_record r
          where r.shop_key = $1 and r.source = $2 and r.part = 'labels'
          order by r.record_id, r.record_number desc`;

const LABELS_PER_FETCH = 5000;

/** Opens the cursor over the labels of the run's records. */
export const openRecordLabels = cursor<LabelRow, [shopKey: number, source: string]>(
  "record_label",
  LABELS_PER_FETCH,
  `select l."labelId" as label_id, l."orderId" as order_id, l."returnId" as return_id, l."orderName" as order_name,
            l."trackingNumber" as tracking_number, l."chargedAt"::text as charged_at, l."amountMinor" as amount_minor,
            l."currencyCode" as currency_code, l."voidedAt"::text as voided_at
       from (${LAST_RECORDS}) last
      cross join lateral jsonb_to_recordset(last.record::jsonb) l (
              "labelId" text, "orderId" text, "returnId" text, "orderName" text, "trackingNumber" text,
              "chargedAt" timestamptz, "amountMinor" bigint, "currencyCode" text, "voidedAt" timestamptz)`,
);

/**
 * Opens the cursor over stored labels that the run's records no longer name: those whose id is the record's, or begins with it
 * and a colon. Primary key of return_label.
 */
export const openUnnamedLabels = cursor<Pick<LabelRow, "label_id">, [shopKey: number, source: string]>(
  "unnamed_label",
  LABELS_PER_FETCH,
  `with last as materialized (${LAST_RECORDS}
         ), stored as materialized (
           select l.label_id
             from last r
            cross join lateral (
              select b.label_id from return_label b
               where b.shop_key = $1 and b.source = $2 and b.label_id = r.record_id
              union all
              select b.label_id from return_label b
               where b.shop_key = $1 and b.source = $2
                 and b.label_id >= r.record_id || ':' and b.label_id < r.record_id || ';'
            ) l
         ), named as materialized (
           select l."labelId" as label_id
             from last cross join lateral jsonb_to_recordset(last.record::jsonb) l ("labelId" text)
         )
         select s.label_id from stored s except select n.label_id from named n`,
);

/** When a stored label was charged and, if it was, voided. */
export type StoredMoments = { label_id: string; charged_at: Date; voided_at: Date | null };

/** A label as its source stated it. */
export type StoredLabel = StoredMoments & {
  source_order_id: string | null;
  source_return_id: string | null;
  source_order_name: string | null;
  tracking_number: string | null;
  amount_minor: number;
  currency_code: string;
};

const listLabels = query<StoredLabel, [shopKey: number, source: string, labelIds: readonly string[]]>(
  "find_stored_labels",
  `select l.label_id, l.source_order_id, l.source_return_id, l.source_order_name, l.tracking_number, l.charged_at,
                l.amount_minor, l.currency_code, l.voided_at
           from return_label l
          where l.shop_key = $1 and l.source = $2 and l.label_id = any($3)`,
);

/** The stored ones of these labels by their id. Primary key. */
export async function findLabels(
  database: Queryable,
  shopKey: number,
  source: string,
  labelIds: readonly string[],
): Promise<Map<string, StoredLabel>> {
  const rows = await listLabels(database, shopKey, source, labelIds);
  return new Map(rows.map((row) => [row.label_id, row]));
}

/** The first day of the workspace's first order month; null without orders. Index order_line_by_month. */
export const findFirstMonth = queryValue<string, [shopKey: number]>(
  "find_first_month",
  "select min(cohort_month) as first_month from order_line where shop_key = $1",
);

/** All stored labels of one source; unmatched_minor in the shop's currency, foreign ones are spend in another. */
export type LabelTotals = {
  voided: number;
  foreign: number;
  foreign_currency_code: string | null;
  unmatched: number;
  unmatched_minor: number;
};

/** Adds up a source's labels, after they were split. Primary key of return_label, index label_share_by_label. */
export const countLabels = requireRow<
  LabelTotals,
  [shopKey: number, source: string, currencyCode: string],
  Connection
>(
  "count_labels",
  `select count(*) filter (where l.voided_at is not null) as voided,
                count(*) filter (where l.voided_at is null and l.currency_code <> $3) as foreign,
                min(l.currency_code) filter (where l.voided_at is null and l.currency_code <> $3) as foreign_currency_code,
                count(*) filter (where m.is_unmatched) as unmatched,
                coalesce(sum(l.amount_minor) filter (where m.is_unmatched), 0) as unmatched_minor
           from return_label l
          cross join lateral (
            select l.voided_at is null and l.currency_code = $3 and not exists (
                     select from label_share s
                      where s.shop_key = $1 and s.source = l.source and s.label_id = l.label_id) as is_unmatched) m
          where l.shop_key = $1 and l.source = $2`,
);

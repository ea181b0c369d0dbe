import type { Connection, Queryable } from "../database.ts";
import { command, query, queryValue, requireRow, requireValue } from "../query.ts";

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
export type LabelRecord = { recordId: string; labels: readonly unknown[] };

/** Keeps what a source states of its records until the run applies it. */
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

/** Moves the labels of the run's records to staged_label; of a record that came several times the last one counts. */
export const stageRecords = command<[shopKey: number, source: string], Connection>(
  "stage_label_records",
  `with last as (
           select distinct on (r.record_id) r.record_id, r.record
             from sync_record r
            where r.shop_key = $1 and r.source = $2 and r.part = 'labels'
            order by r.record_id, r.record_number desc
         )
         insert into staged_label (line_number, label_id, order_id, return_id, order_name, tracking_number, charged_at,
                                   amount_minor, currency_code, voided_at)
         select 0, l."labelId", l."orderId", l."returnId", l."orderName", l."trackingNumber", l."chargedAt",
                l."amountMinor", l."currencyCode", l."voidedAt"
           from last
          cross join lateral jsonb_to_recordset(last.record::jsonb) as l (
                  "labelId" text, "orderId" text, "returnId" text, "orderName" text, "trackingNumber" text,
                  "chargedAt" timestamptz, "amountMinor" bigint, "currencyCode" text, "voidedAt" timestamptz)`,
);

const findUnnamedLabels = command<[shopKey: number, source: string], Connection>(
  "find_unnamed_labels",
  `insert into unnamed_label (label_id)
         with record as (
           select distinct r.record_id from sync_record r
            where r.shop_key = $1 and r.source = $2 and r.part = 'labels'
         ), stored as (
           select l.label_id
             from record r
            cross join lateral (
              select b.label_id from return_label b
               where b.shop_key = $1 and b.source = $2 and b.label_id = r.record_id
              union all
              select b.label_id from return_label b
               where b.shop_key = $1 and b.source = $2
                 and b.label_id >= r.record_id || ':' and b.label_id < r.record_id || ';'
            ) l
         ), named as materialized (select s.label_id from staged_label s)
         select distinct l.label_id from stored l
          where not exists (select from named n where n.label_id = l.label_id)`,
);
const deleteUnnamedLabels = command<[shopKey: number, source: string], Connection>(
  "remove_unnamed_labels",
  `delete from return_label b using (select u.label_id from unnamed_label u) gone
          where b.shop_key = $1 and b.source = $2 and b.label_id = gone.label_id`,
);
const touchUnnamedLabels = requireValue<number, [source: string], Connection>(
  "touch_unnamed_labels",
  `with gone as (delete from unnamed_label returning label_id), touched as (
           insert into touched_label (source, label_id) select $1, label_id from gone on conflict do nothing
         ) select count(*) as removed from gone`,
);

/**
 * Removes stored labels that the run's records no longer name: those whose id is the record's, or begins with it and a
 * colon. Returns how many; their parts go when the labels are split. Primary key of return_label. In three statements:
 * Citus refuses the one that would look for them, remove and note them at once.
 */
export async function removeUnnamedLabels(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<number> {
  await findUnnamedLabels(connection, shopKey, source);
  await deleteUnnamedLabels(connection, shopKey, source);
  return touchUnnamedLabels(connection, source);
}

/** When a stored label was charged and, if it was, voided. */
export type StoredLabel = { label_id: string; charged_at: Date; voided_at: Date | null };

const listLabels = query<StoredLabel, [shopKey: number, source: string, labelIds: readonly string[]]>(
  "find_stored_labels",
  `select l.label_id, l.charged_at, l.voided_at
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

/** The first day of the shop's first order month; null without orders. Index order_line_by_month. */
export const findFirstMonth = queryValue<string, [shopKey: number]>(
  "find_first_month",
  "select min(cohort_month) as first_month from order_line where shop_key = $1",
);

/** All stored labels of one source; unmatched_minor in the shop's currency, foreign ones are spend in another. */
export type LabelTotals = {
  staged: number;
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
  `select (select count(*) from staged_label) as staged,
                count(*) filter (where l.voided_at is not null) as voided,
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

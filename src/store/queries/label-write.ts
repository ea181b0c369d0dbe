import type { Connection } from "../database.ts";
import { command, cursor, inOrder, query, queryColumn } from "../query.ts";
import type { LabelKey } from "./facts.ts";

/** A label as its source states it. Times as PostgreSQL writes them in UTC. */
export type LabelRow = {
  label_id: string;
  order_id: string | null;
  return_id: string | null;
  order_name: string | null;
  tracking_number: string | null;
  charged_at: string;
  amount_minor: number;
  currency_code: string;
  voided_at: string | null;
};

type SomeLabels = [shopKey: number, source: string, labelIds: readonly string[]];

/** Stored rows of some labels of a source. Primary key of return_label. */
export const listLabels = query<LabelRow, SomeLabels, Connection>(
  "list_stored_labels",
  `select l.label_id, l.source_order_id as order_id, l.source_return_id as return_id, l.source_order_name as order_name,
                l.tracking_number, l.charged_at::text, l.amount_minor, l.currency_code, l.voided_at::text
           from return_label l where l.shop_key = $1 and l.source = $2 and l.label_id = any($3)`,
);

/** Stores labels as their source states them. Primary key of return_label. */
export const putLabels = command<[shopKey: number, source: string, labels: readonly LabelRow[]], Connection>(
  "put_labels",
  `insert into return_label (shop_key, source, label_id, source_order_id, source_return_id, source_order_name,
                                  tracking_number, charged_at, amount_minor, currency_code, voided_at)
         select w.shop_key, $2, s.label_id, s.order_id, s.return_id, s.order_name, s.tracking_number, s.charged_at,
                s.amount_minor, s.currency_code, s.voided_at
           from workspace w
          cross join json_to_recordset($3::json) s (label_id text, order_id text, return_id text, order_name text,
                       tracking_number text, charged_at timestamptz, amount_minor bigint, currency_code text,
                       voided_at timestamptz)
          where w.shop_key = $1
         on conflict (shop_key, source, label_id) do update
            set source_order_id = excluded.source_order_id, source_return_id = excluded.source_return_id,
                source_order_name = excluded.source_order_name, tracking_number = excluded.tracking_number,
                charged_at = excluded.charged_at, amount_minor = excluded.amount_minor,
                currency_code = excluded.currency_code, voided_at = excluded.voided_at`,
  (shopKey, source, labels) => [shopKey, source, JSON.stringify(labels)],
);

/** Removes labels of a source; returns those that were there. Their parts go when the labels are split. Primary key. */
export const removeLabels = queryColumn<string, SomeLabels, Connection>(
  "remove_labels",
  `delete from return_label l where l.shop_key = $1 and l.source = $2 and l.label_id = any($3)
         returning l.label_id`,
);

/**
 * M10: finds what some labels of a source belong to: by a return it names or its tracking number, else by the order id it
 * names, else by the order's name. What matches several matches none. Primary key of return_label, indexes
 * return_tracking_by_number and order_reference_by_name.
 */
export const matchLabels = command<SomeLabels, Connection>(
  "match_labels",
  `with matched as (
           select l.label_id, coalesce(l.source_return_id, tracked.return_id) as return_id,
                  coalesce(tracked.order_id, l.source_order_id, named.order_id) as order_id
             from return_label l
             left join lateral (
               select min(r.order_id) as order_id, min(r.return_id) as return_id from return_tracking r
                where r.shop_key = $1 and r.tracking_number = l.tracking_number having count(*) = 1
             ) tracked on true
             left join lateral (
               select min(n.order_id) as order_id from order_reference n
                where n.shop_key = $1 and n.order_name = l.source_order_name having count(*) = 1
             ) named on true
            where l.shop_key = $1 and l.source = $2 and l.label_id = any($3)
         )
         update return_label l set order_id = m.order_id, return_id = m.return_id
           from matched m
          where l.shop_key = $1 and l.source = $2 and l.label_id = m.label_id
            and (l.order_id, l.return_id) is distinct from (m.order_id, m.return_id)`,
);

/** Every label of a workspace. Primary key of return_label. */
export const listAllLabels = query<LabelKey, [shopKey: number], Connection>(
  "list_all_labels",
  "select l.source, l.label_id from return_label l where l.shop_key = $1",
);

/** A line that may carry a part of a label; cohortMonth: the first day of its month, YYYY-MM-DD. */
export type LabelCandidate = [
  orderId: string,
  lineId: string,
  units: number,
  lagDays: number,
  cohortMonth: string,
];

/** by_return, by_order: the lines it would be split over, null = none. is_foreign: not in the shop's currency. */
export type LabelToSplit = {
  label_id: string;
  order_id: string | null;
  amount_minor: number;
  is_foreign: boolean;
  by_return: LabelCandidate[] | null;
  by_order: LabelCandidate[] | null;
};

/**
 * Opens the cursor over some labels of a source, without voided ones: sets joined two at a time, since one that is taken for a
 * single row would be made again for each row of the others. return_request_by_return and the primary keys of return_label,
 * order_line and return_event.
 */
export const openLabelsToSplit = cursor<LabelToSplit, [...SomeLabels, currencyCode: string]>(
  "label_to_split",
  2000,
  `with label as materialized (
       select l.label_id, l.amount_minor, l.currency_code <> $4 as is_foreign, l.return_id, l.order_id,
              (l.charged_at at time zone 'UTC')::date as charged_on
         from return_label l
        where l.shop_key = $1 and l.source = $2 and l.label_id = any($3) and l.voided_at is null
     ), requested as materialized (
       select b.label_id, b.charged_on, r.order_id, r.line_id, r.units
         from label b
         join return_request r on r.shop_key = $1 and r.return_id = b.return_id
        where r.units > 0
     ), returned as materialized (
       select b.label_id, b.charged_on, e.order_id, e.line_id, sum(e.returned_units) as units
         from label b
         join return_event e on e.shop_key = $1 and e.order_id = b.order_id
        group by b.label_id, b.charged_on, e.order_id, e.line_id having sum(e.returned_units) > 0
     ), by_return as materialized (${candidatesOf("requested")}
     ), by_order as materialized (${candidatesOf("returned")}
     )
     select b.label_id, b.order_id, b.amount_minor, b.is_foreign, r.candidates as by_return, o.candidates as by_order
       from label b
       left join by_return r on r.label_id = b.label_id
       left join by_order o on o.label_id = b.label_id`,
);

/** One row per label: the lines of `units` that sold something, as `LabelCandidate`s. */
function candidatesOf(units: string): string {
  return `
       select u.label_id,
              json_agg(json_build_array(o.order_id, o.line_id, u.units, greatest(0, u.charged_on - o.ordered_on),
                                        o.cohort_month)) as candidates
         from ${units} u
         join order_line o on o.shop_key = $1 and o.order_id = u.order_id and o.line_id = u.line_id
        where o.sold_units > 0
        group by u.label_id`;
}

/** Removes the parts of some labels of a source; returns the months that carried them. Index label_share_by_label. */
export const removeShares = queryColumn<string, SomeLabels, Connection>(
  "remove_shares",
  `with gone as (
           delete from label_share h where h.shop_key = $1 and h.source = $2 and h.label_id = any($3)
           returning h.cohort_month
         ) select distinct cohort_month from gone`,
);

const INSERT_UNMATCHED = `insert into unmatched_label (shop_key, source, label_id, charged_on, amount_minor)
  select b.shop_key, b.source, b.label_id, (b.charged_at at time zone 'UTC')::date, b.amount_minor
    from return_label b
    join workspace w on w.shop_key = $1 and w.currency_code = b.currency_code
   where b.shop_key = $1 and b.voided_at is null
     and not exists (
       select from label_share s where s.shop_key = $1 and s.source = b.source and s.label_id = b.label_id)`;

/**
 * M10: brings some labels of a source up to date among the unmatched; call it after they were split. Primary keys of
 * unmatched_label and return_label, label_share_by_label.
 */
export const refreshUnmatched = inOrder<
  [shopKey: number, source: string, labelIds: readonly string[]],
  void,
  Connection
>(
  command(
    "remove_unmatched",
    "delete from unmatched_label u where u.shop_key = $1 and u.source = $2 and u.label_id = any($3)",
  ),
  command("insert_unmatched", `${INSERT_UNMATCHED} and b.source = $2 and b.label_id = any($3)`),
);

/** M10: recomputes the unmatched labels of a workspace. Reads all its labels. */
export const refreshAllUnmatched = inOrder<[shopKey: number], void, Connection>(
  command("remove_all_unmatched", "delete from unmatched_label where shop_key = $1"),
  command("insert_all_unmatched", INSERT_UNMATCHED),
);

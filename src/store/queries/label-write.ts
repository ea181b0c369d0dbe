import type { Connection } from "../database.ts";
import { command, cursor, inOrder, requireValue } from "../query.ts";

/** Stores the staged labels that are new or different; returns how many. Primary key of return_label. */
export const putLabels = requireValue<number, [shopKey: number, source: string], Connection>(
  "put_labels",
  `with changed as (
           select s.label_id, s.order_id, s.return_id, s.order_name, s.tracking_number, s.charged_at, s.amount_minor,
                  s.currency_code, s.voided_at
             from staged_label s
             left join return_label l on l.shop_key = $1 and l.source = $2 and l.label_id = s.label_id
            where not s.deleted and (l.label_id is null
               or (l.source_order_id, l.source_return_id, l.source_order_name, l.tracking_number, l.charged_at,
                   l.amount_minor, l.currency_code, l.voided_at)
                  is distinct from
                  (s.order_id, s.return_id, s.order_name, s.tracking_number, s.charged_at, s.amount_minor,
                   s.currency_code, s.voided_at))
         ), touched as (
           insert into touched_label (source, label_id) select $2, label_id from changed on conflict do nothing
         ), put as (
           insert into return_label (shop_key, source, label_id, source_order_id, source_return_id, source_order_name,
                                     tracking_number, charged_at, amount_minor, currency_code, voided_at)
           select $1, $2, label_id, order_id, return_id, order_name, tracking_number, charged_at, amount_minor,
                  currency_code, voided_at
             from changed
           on conflict (shop_key, source, label_id) do update
              set source_order_id = excluded.source_order_id, source_return_id = excluded.source_return_id,
                  source_order_name = excluded.source_order_name, tracking_number = excluded.tracking_number,
                  charged_at = excluded.charged_at, amount_minor = excluded.amount_minor,
                  currency_code = excluded.currency_code, voided_at = excluded.voided_at
           returning 1
         ) select count(*) as changed from put`,
);

/**
 * Removes the stored labels that staged rows say are gone; returns how many. Their parts go when the labels are split.
 * Primary key of return_label. In two statements: Citus refuses the one that would remove and note them at once.
 */
export const removeDeletedLabels = inOrder<[shopKey: number, source: string], number, Connection>(
  requireValue(
    "touch_deleted_labels",
    `with gone as materialized (
           select b.label_id from staged_label s
             join return_label b on b.shop_key = $1 and b.source = $2 and b.label_id = s.label_id
            where s.deleted
         ), touched as (
           insert into touched_label (source, label_id) select $2, label_id from gone on conflict do nothing
         ) select count(*) as removed from gone`,
  ),
  command(
    "delete_labels",
    `delete from return_label b using (select s.label_id from staged_label s where s.deleted) gone
          where b.shop_key = $1 and b.source = $2 and b.label_id = gone.label_id`,
  ),
);

/**
 * M10: finds what the touched labels belong to: by a return its source names or its tracking number, else by the
 * order id its source names, else by the order's name. What fits several fits none. Indexes return_tracking_by_number
 * and order_reference_by_name.
 */
export const matchLabels = command<[shopKey: number], Connection>(
  "match_labels",
  `with matched as (
           select l.source, l.label_id,
                  coalesce(l.source_return_id, tracked.return_id) as return_id,
                  coalesce(tracked.order_id, l.source_order_id, named.order_id) as order_id
             from touched_label t
             join return_label l on l.shop_key = $1 and l.source = t.source and l.label_id = t.label_id
             left join lateral (
               select min(r.order_id) as order_id, min(r.return_id) as return_id from return_tracking r
                where r.shop_key = $1 and r.tracking_number = l.tracking_number having count(*) = 1
             ) tracked on true
             left join lateral (
               select min(n.order_id) as order_id from order_reference n
                where n.shop_key = $1 and n.order_name = l.source_order_name having count(*) = 1
             ) named on true
         )
         update return_label l set order_id = m.order_id, return_id = m.return_id
           from matched m
          where l.shop_key = $1 and l.source = m.source and l.label_id = m.label_id
            and (l.order_id, l.return_id) is distinct from (m.order_id, m.return_id)`,
);

/** Marks every label of a shop to be split again. */
export const touchAllLabels = command<[shopKey: number], Connection>(
  "touch_all_labels",
  `insert into touched_label (source, label_id)
         select source, label_id from return_label where shop_key = $1 on conflict do nothing`,
);

/** A line that may carry a part of a label: order id, line id, units, lag days. */
export type LabelCandidate = [orderId: string, lineId: string, units: number, lagDays: number];

/** by_return and by_order: the lines it would be split over, null = none. is_foreign: not in the shop's currency. */
export type TouchedLabelRow = {
  source: string;
  label_id: string;
  amount_minor: number;
  is_voided: boolean;
  is_foreign: boolean;
  by_return: LabelCandidate[] | null;
  by_order: LabelCandidate[] | null;
};

/**
 * Opens the cursor over the touched labels: sets joined two at a time, since one that is taken for a single row would
 * be made again for each row of the others. return_request_by_return and the primary keys of return_label, order_line and return_event.
 */
export const openTouchedLabels = cursor<TouchedLabelRow, [shopKey: number, currencyCode: string]>(
  "touched_label_row",
  2000,
  `with label as materialized (
       select l.source, l.label_id, l.amount_minor, l.voided_at is not null as is_voided,
              l.currency_code <> $2 as is_foreign, l.return_id, l.order_id,
              (l.charged_at at time zone 'UTC')::date as charged_on
         from touched_label t
         join return_label l on l.shop_key = $1 and l.source = t.source and l.label_id = t.label_id
     ), requested as materialized (
       select b.source, b.label_id, b.charged_on, r.order_id, r.line_id, r.units
         from label b
         join return_request r on r.shop_key = $1 and r.return_id = b.return_id
        where r.units > 0
     ), returned as materialized (
       select b.source, b.label_id, b.charged_on, e.order_id, e.line_id, sum(e.returned_units) as units
         from label b
         join return_event e on e.shop_key = $1 and e.order_id = b.order_id
        group by b.source, b.label_id, b.charged_on, e.order_id, e.line_id having sum(e.returned_units) > 0
     ), by_return as materialized (${candidatesOf("requested")}
     ), by_order as materialized (${candidatesOf("returned")}
     )
     select b.source, b.label_id, b.amount_minor, b.is_voided, b.is_foreign,
            r.candidates as by_return, o.candidates as by_order
       from label b
       left join by_return r on r.source = b.source and r.label_id = b.label_id
       left join by_order o on o.source = b.source and o.label_id = b.label_id`,
);

/** One row per label: the lines of `units` that sold something, as `LabelCandidate`s. */
function candidatesOf(units: string): string {
  return `
       select u.source, u.label_id,
              json_agg(json_build_array(o.order_id, o.line_id, u.units,
                                        greatest(0, u.charged_on - o.ordered_on))) as candidates
         from ${units} u
         join order_line o on o.shop_key = $1 and o.order_id = u.order_id and o.line_id = u.line_id
        where o.sold_units > 0
        group by u.source, u.label_id`;
}

/** Marks the months that carry parts of touched labels. Index label_share_by_label. */
export const markLabelMonths = command<[shopKey: number], Connection>(
  "mark_label_months",
  `insert into dirty_cohort (shop_key, cohort_month)
         select distinct h.shop_key, h.cohort_month
           from touched_label t
           join label_share h on h.shop_key = $1 and h.source = t.source and h.label_id = t.label_id
         on conflict do nothing`,
);

/** Removes the parts of touched labels. Index label_share_by_label. */
export const removeShares = command<[shopKey: number], Connection>(
  "remove_shares",
  `delete from label_share h using touched_label t
          where h.shop_key = $1 and h.source = t.source and h.label_id = t.label_id`,
);

/** Moves the new parts to their place. Primary key of order_line. */
export const insertShares = command<[shopKey: number], Connection>(
  "insert_shares",
  `insert into label_share (shop_key, order_id, line_id, source, label_id, cohort_month, lag_days, label_minor)
         select l.shop_key, l.order_id, l.line_id, s.source, s.label_id, l.cohort_month, s.lag_days, s.label_minor
           from fact_share s
           join order_line l on l.shop_key = $1 and l.order_id = s.order_id and l.line_id = s.line_id`,
);

import type { Connection, Statement } from "../database.ts";

const REMOVE_COHORTS: Statement = {
  name: "remove_cohorts",
  text: `delete from cohort
          where shop_key = $1 and cohort_month = any($2::date[]) and observation_window = any($3::text[])`,
};

/** Removes the cohort rows of months in observation windows. Index cohort_by_month. */
export async function removeCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
  windows: readonly string[],
): Promise<void> {
  await connection.rows(REMOVE_COHORTS, [shopKey, months, windows]);
}

const INSERT_COHORTS: Statement = {
  name: "insert_cohorts",
  text: `with observation (name, last_lag_days) as (
           select o.name, o.days
             from (values ('30d', 30), ('90d', 90), ('lifetime', 2147483647),
                          ('primary', (select w.primary_window_days from workspace w where w.shop_key = $1))
                  ) o (name, days)
            where o.name = any($3::text[])
         ), line as materialized (
           select l.order_id, l.line_id, l.cohort_month, l.sku, l.product_gid, l.used, l.sold_units, l.unit_cost_minor
             from order_line l
            where l.shop_key = $1 and l.cohort_month = any($2::date[]) and l.sold_units > 0
         ), sold as (
           select cohort_month, sku, product_gid, used, sum(sold_units) as sold_units,
                  coalesce(sum(sold_units) filter (where unit_cost_minor is not null), 0) as costed_sold_units
             from line group by cohort_month, sku, product_gid, used
         ), measure as (
           select s.cohort_month, s.sku, s.product_gid, s.used, o.name as observation_window,
                  s.sold_units, s.costed_sold_units, 0::bigint as returned_units, 0::bigint as refunded_units,
                  0::bigint as restocked_units, 0::numeric as restocked_cost_minor, 0::bigint as costed_returned_units,
                  0::numeric as refund_minor, 0::numeric as label_minor
             from sold s cross join observation o
           union all
           select l.cohort_month, l.sku, l.product_gid, l.used, o.name, 0, 0, sum(e.returned_units),
                  sum(e.refunded_units), sum(e.restocked_units),
                  coalesce(sum(e.restocked_units * l.unit_cost_minor), 0),
                  coalesce(sum(e.returned_units) filter (where l.unit_cost_minor is not null), 0),
                  sum(e.refund_minor), 0
             from line l
             join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
             join observation o on e.lag_days <= o.last_lag_days
            group by l.cohort_month, l.sku, l.product_gid, l.used, o.name
           union all
           select l.cohort_month, l.sku, l.product_gid, l.used, o.name, 0, 0, 0, 0, 0, 0, 0, 0, sum(h.label_minor)
             from line l
             join label_share h on h.shop_key = $1 and h.order_id = l.order_id and h.line_id = l.line_id
             join observation o on h.lag_days <= o.last_lag_days
            group by l.cohort_month, l.sku, l.product_gid, l.used, o.name
         )
         insert into cohort (shop_key, entity_kind, entity_key, observation_window, cohort_month, sold_units,
                             returned_units, refunded_units, restocked_units, restocked_cost_minor, costed_sold_units,
                             costed_returned_units, refund_minor, label_minor)
         select $1, entity.kind, entity.key, m.observation_window, m.cohort_month, sum(m.sold_units),
                sum(m.returned_units), sum(m.refunded_units), sum(m.restocked_units), sum(m.restocked_cost_minor),
                sum(m.costed_sold_units), sum(m.costed_returned_units), sum(m.refund_minor), sum(m.label_minor)
           from measure m
           left join product p on p.shop_key = $1 and p.product_gid = m.product_gid
          cross join lateral (values
                  ('sku', m.sku),
                  (case when m.used then 'product_used' else 'product' end, m.product_gid),
                  ('family', p.family),
                  ('analytics_category', p.analytics_category),
                  ('workspace', '')
                ) entity (kind, key)
          where entity.key is not null
          group by entity.kind, entity.key, m.observation_window, m.cohort_month`,
};

/**
 * Makes the cohort rows of months in observation windows from the facts (M1–M4, M9–M11, M13): one row for each
 * entity that sold something in the month. order_line_by_month; primary keys of return_event and label_share.
 */
export async function insertCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
  windows: readonly string[],
): Promise<void> {
  await connection.rows(INSERT_COHORTS, [shopKey, months, windows]);
}

const LIST_DIRTY_MONTHS: Statement = {
  name: "list_dirty_months",
  text: "select cohort_month from dirty_cohort where shop_key = $1 order by cohort_month",
};

/** First days of the months to make anew, YYYY-MM-DD, oldest first. */
export async function listDirtyMonths(connection: Connection, shopKey: number): Promise<string[]> {
  const rows = await connection.rows<{ cohort_month: string }>(LIST_DIRTY_MONTHS, [shopKey]);
  return rows.map((row) => row.cohort_month);
}

const CLEAR_DIRTY_MONTHS: Statement = {
  name: "clear_dirty_months",
  text: "delete from dirty_cohort where shop_key = $1",
};

export async function clearDirtyMonths(connection: Connection, shopKey: number): Promise<void> {
  await connection.rows(CLEAR_DIRTY_MONTHS, [shopKey]);
}

const LIST_COHORT_MONTHS: Statement = {
  name: "list_cohort_months",
  text: `select cohort_month from order_line where shop_key = $1
         union select cohort_month from cohort where shop_key = $1 and entity_kind = 'workspace'
         order by cohort_month`,
};

/** First days of all months that hold lines or cohort rows, oldest first. Index order_line_by_month. */
export async function listCohortMonths(connection: Connection, shopKey: number): Promise<string[]> {
  const rows = await connection.rows<{ cohort_month: string }>(LIST_COHORT_MONTHS, [shopKey]);
  return rows.map((row) => row.cohort_month);
}

import { defineStatement } from "../database.ts";
import type { Connection } from "../database.ts";

/**
 * The tables of one run, gone at its commit. Text is collated as in the tables it is joined with. staged_* hold what a
 * connector read, one row per source row with its line number, of a deleted one its key alone; fact_* what the projection made of changed orders;
 * touched_* what has to be derived again.
 */
const CREATE_STAGE = `
create temp table staged_product (
  line_number integer, product_gid text collate "C", title text, handle text, vendor text, family text collate "C",
  analytics_category text collate "C", image_url text, image_alt text
) on commit drop;
create temp table staged_variant (
  line_number integer, variant_id text collate "C", product_gid text collate "C", sku text collate "C", title text,
  used boolean, counterpart_sku text, unit_cost_minor bigint
) on commit drop;
create temp table staged_order_row (
  kind text collate "C", line_number integer, order_id text collate "C", line_id text collate "C",
  record_id text collate "C", units integer, record text, deleted boolean not null default false
) on commit drop;
create temp table staged_label (
  line_number integer, label_id text collate "C", order_id text, return_id text, order_name text,
  tracking_number text, charged_at timestamptz, amount_minor bigint, currency_code text, voided_at timestamptz,
  deleted boolean not null default false
) on commit drop;
create temp table staged_sale_event (
  line_number integer, slug text collate "C", label text, starts_on date, ends_on date, skus text[],
  deleted boolean not null default false
) on commit drop;
create temp table refused_row (kind text collate "C", line_number integer, order_id text, line_id text) on commit drop;
create temp table changed_document (order_id text collate "C", document jsonb) on commit drop;
create temp table changed_order (order_id text collate "C" primary key, existed boolean) on commit drop;
create temp table fact_line (
  order_id text collate "C", line_id text collate "C", ordered_on date, cohort_month date, sold_units integer,
  product_gid text collate "C", variant_id text collate "C", sku text collate "C", title text, vendor text
) on commit drop;
create temp table fact_event (
  order_id text collate "C", line_id text collate "C", event_number integer, cohort_month date, lag_days integer, occurred_on date,
  reason text, returned_units integer, refunded_units integer, restocked_units integer, refund_minor bigint
) on commit drop;
create temp table fact_request (
  order_id text collate "C", line_id text collate "C", return_id text collate "C", cohort_month date, status text,
  units integer
) on commit drop;
create temp table fact_order_name (order_id text collate "C", order_name text collate "C") on commit drop;
create temp table fact_tracking (
  order_id text collate "C", return_id text collate "C", tracking_number text collate "C"
) on commit drop;
create temp table fact_share (
  order_id text collate "C", line_id text collate "C", source text collate "C", label_id text collate "C",
  lag_days integer, label_minor bigint
) on commit drop;
create temp table touched_variant (variant_id text collate "C" primary key) on commit drop;
create temp table touched_product (product_gid text collate "C" primary key) on commit drop;
create temp table touched_sku (sku text collate "C" primary key) on commit drop;
create temp table unnamed_label (label_id text collate "C") on commit drop;
create temp table touched_label (
  source text collate "C", label_id text collate "C", primary key (source, label_id)
) on commit drop;
-- Documents are compressed once, where they stay.
alter table changed_document alter column document set storage external;
set local work_mem = '64MB';
set local cursor_tuple_fraction = 1;`;

/** Makes the empty tables of a run, for the rest of this transaction. */
export async function createStage(connection: Connection): Promise<void> {
  await connection.client.query(CREATE_STAGE);
}

/** The workspace was erased meanwhile: there is nothing left to write for it. */
export class WorkspaceGone extends Error {
  override name = "WorkspaceGone";
  override message = "the workspace does not exist";
}

const TRY_LOCK_SHOP = defineStatement({
  name: "try_lock_shop",
  text: "select pg_try_advisory_xact_lock(hashtextextended('shop data', $1)) as is_locked",
});

const LOCK_SHOP = defineStatement({
  name: "lock_shop",
  text: "select pg_advisory_xact_lock(hashtextextended('shop data', $1)) is null as locked",
});

const FIND_LOCKED_SHOP = defineStatement({
  name: "find_locked_shop",
  text: "select 1 as is_there from workspace where shop_key = $1",
});

/**
 * Waits until no other run writes this shop's data; held to the end of the transaction. `onWait` is called when there
 * is another one. Throws `WorkspaceGone`: not every table would refuse the rows of a workspace that was erased.
 */
export async function lockShop(
  connection: Connection,
  shopKey: number,
  onWait: () => void = () => {},
): Promise<void> {
  const [row] = await connection.rows<{ is_locked: boolean }>(TRY_LOCK_SHOP, [shopKey]);
  if (row?.is_locked !== true) {
    onWait();
    await connection.rows(LOCK_SHOP, [shopKey]);
  }
  const found = await connection.rows(FIND_LOCKED_SHOP, [shopKey]);
  if (found.length === 0) throw new WorkspaceGone();
}

/** The staged tables and the columns a row of theirs is known by. */
const STAGED_KEYS = {
  staged_product: ["product_gid"],
  staged_variant: ["variant_id"],
  staged_label: ["label_id"],
  staged_sale_event: ["slug"],
  staged_order_row: ["kind", "order_id", "line_id", "record_id"],
} as const;

export type StagedTable = keyof typeof STAGED_KEYS;

/** Gives the planner the sizes of the staged rows. */
export async function analyzeStage(connection: Connection): Promise<void> {
  await connection.client.query(`analyze ${Object.keys(STAGED_KEYS).join(", ")}`);
}

/** Removes all but the last of rows with one key; how many were removed of each kind ('' where there is one kind). */
export async function removeRepeatedRows(
  connection: Connection,
  table: StagedTable,
): Promise<{ kind: string; removed: number }[]> {
  const key = STAGED_KEYS[table].join(", ");
  const isSame = STAGED_KEYS[table].map((column) => `s.${column} = r.${column}`).join(" and ");
  const kind = table === "staged_order_row" ? "s.kind" : "''";
  const result = await connection.client.query<{ kind: string; removed: number }>(
    `with gone as (
       delete from ${table} s using (
         select ${key}, max(line_number) as last_line from ${table} group by ${key} having count(*) > 1
       ) r where ${isSame} and s.line_number < r.last_line
       returning ${kind} as kind
     ) select kind, count(*) as removed from gone group by kind order by kind`,
  );
  return result.rows;
}

/** total counts all rows of this kind of problem, of which the first are returned. */
export type RefusedRow = {
  kind: string;
  line_number: number;
  line_id: string;
  order_id: string;
  total: number;
};

const FIND_UNKNOWN_LINES = defineStatement({
  name: "find_unknown_lines",
  text: `insert into refused_row (kind, line_number, order_id, line_id)
         with unstaged as materialized (
           select s.kind, s.line_number, s.order_id, s.line_id
             from staged_order_row s
            where s.kind <> 'line' and not s.deleted
              and not exists (select from staged_order_row l
                               where l.kind = 'line' and l.order_id = s.order_id and l.line_id = s.line_id
                                 and not l.deleted)
         )
         select u.kind, u.line_number, u.order_id, u.line_id
           from unstaged u
          where not exists (select from order_line l
                             where l.shop_key = $1 and l.order_id = u.order_id and l.line_id = u.line_id)
         union all
         select u.kind, u.line_number, u.order_id, u.line_id
           from unstaged u
           join staged_order_row r on r.order_id = u.order_id and r.line_id = u.line_id
          where r.kind = 'line' and r.deleted`,
});

/**
 * Takes returns and refunds of lines that neither this run nor an earlier one knows, or that this run removes, out of
 * the stage.
 */
export async function refuseUnknownLines(
  connection: Connection,
  shopKey: number,
  limit: number,
): Promise<RefusedRow[]> {
  await connection.rows(FIND_UNKNOWN_LINES, [shopKey]);
  return removeRefusedRows(connection, limit);
}

const FIND_EXCESSIVE_REFUNDS = defineStatement({
  name: "find_excessive_refunds",
  text: `insert into refused_row (kind, line_number, order_id, line_id)
         with refund as materialized (
           select r.kind, r.line_number, r.order_id, r.line_id, r.units, l.units as ordered_units
             from staged_order_row r
             left join staged_order_row l
               on l.kind = 'line' and l.order_id = r.order_id and l.line_id = r.line_id
            where r.kind = 'refund'
         ), unstaged as materialized (
           select kind, line_number, order_id, line_id, units from refund where ordered_units is null
         )
         select r.kind, r.line_number, r.order_id, r.line_id from refund r where r.units > r.ordered_units
         union all
         select u.kind, u.line_number, u.order_id, u.line_id
           from unstaged u
           join order_document d on d.shop_key = $1 and d.order_id = u.order_id
          cross join lateral jsonb_array_elements(d.document -> 'lines') line
          where line ->> 'lineId' = u.line_id and u.units > (line ->> 'units')::integer`,
});

/** Takes refunds of more units than their line ever had out of the stage; the line as staged, else as stored. */
export async function refuseExcessiveRefunds(
  connection: Connection,
  shopKey: number,
  limit: number,
): Promise<RefusedRow[]> {
  await connection.rows(FIND_EXCESSIVE_REFUNDS, [shopKey]);
  return removeRefusedRows(connection, limit);
}

const REMOVE_REFUSED_ROWS = defineStatement({
  name: "remove_refused_rows",
  text: `with refused as (
           delete from refused_row returning kind, line_number
         ), gone as (
           delete from staged_order_row s using refused r
            where s.kind = r.kind and s.line_number = r.line_number
           returning s.kind, s.line_number, s.order_id, s.line_id
         ) select kind, line_number, order_id, line_id, count(*) over () as total
             from gone order by kind, line_number limit $1`,
});

/** What was found is removed by itself: Citus refuses a statement that removes rows of the session by its own tables. */
async function removeRefusedRows(connection: Connection, limit: number): Promise<RefusedRow[]> {
  return connection.rows(REMOVE_REFUSED_ROWS, [limit]);
}

/** Rows that stay in the stage, for the report of the run. */
export type StagedCounts = {
  products: number;
  variants: number;
  order_lines: number;
  orders: number;
  returns: number;
  refunds: number;
  return_labels: number;
  sale_events: number;
  /** Rows of any file that say that something is gone; the others do not count them. */
  deleted_rows: number;
};

const COUNT_STAGED = defineStatement({
  name: "count_staged",
  text: `select (select count(*) from staged_product) as products,
                (select count(*) from staged_variant) as variants,
                count(*) filter (where kind = 'line' and not deleted) as order_lines,
                (select count(*) from (select distinct order_id from staged_order_row) o) as orders,
                count(*) filter (where kind = 'return' and not deleted) as returns,
                count(*) filter (where kind = 'refund' and not deleted) as refunds,
                (select count(*) from staged_label where not deleted) as return_labels,
                (select count(*) from staged_sale_event where not deleted) as sale_events,
                count(*) filter (where deleted)
                  + (select count(*) from staged_label where deleted)
                  + (select count(*) from staged_sale_event where deleted) as deleted_rows
           from staged_order_row`,
});

export async function countStaged(connection: Connection): Promise<StagedCounts> {
  const [row] = await connection.rows<StagedCounts>(COUNT_STAGED, []);
  return row as StagedCounts;
}

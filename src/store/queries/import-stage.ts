import type { Connection } from "../database.ts";
import { command, cursor, queryAny, requireRow, requireValue } from "../query.ts";

/**
 * The tables of one run, gone at its commit. Text is collated as in the tables it is joined with. staged_* hold what a
 * connector read, one row per source row with its line number, of a deleted one its key alone; fact_* what the projection
 * made of changed_order, a slice at a time; touched_* what has to be derived again.
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
  line_number integer, kind text, order_id text collate "C", record text, deleted boolean not null
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
set local work_mem = '64MB';
set local cursor_tuple_fraction = 1;
-- Tables fill while a run goes on: a plan that was made for an empty one would stay.
set local plan_cache_mode = force_custom_plan;`;

/** Makes the empty tables of a run, for the rest of this transaction. */
export async function createStage(connection: Connection): Promise<void> {
  await connection.client.query(CREATE_STAGE);
}

/** The workspace was erased meanwhile: there is nothing left to write for it. */
export class WorkspaceGone extends Error {
  override name = "WorkspaceGone";
  override message = "the workspace does not exist";
}

/** The workspace is going to be erased: nothing is written for it, unless that is taken back. */
export class WorkspaceErasing extends Error {
  override name = "WorkspaceErasing";
  override message = "The workspace is going to be erased.";
}

const tryLockShop = requireValue<boolean, [shopKey: number]>(
  "try_lock_shop",
  "select pg_try_advisory_xact_lock(hashtextextended('shop data', $1)) as is_locked from coordinator",
);

const waitForShop = command<[shopKey: number]>(
  "lock_shop",
  "select pg_advisory_xact_lock(hashtextextended('shop data', $1)) is null as locked from coordinator",
);

const isShopThere = queryAny<[shopKey: number]>(
  "find_locked_shop",
  "select 1 as is_there from workspace where shop_key = $1",
);

/**
 * Waits until no other run writes this shop's data; held to the end of the transaction. `onWait` is called when there
 * is another one. Throws `WorkspaceGone`: not every table would refuse the rows of a workspace that was erased.
 */
export async function lockShop(
  connection: Connection,
  shopKey: number,
  onWait: () => void = () => {},
): Promise<void> {
  if (!(await tryLockShop(connection, shopKey))) {
    onWait();
    await waitForShop(connection, shopKey);
  }
  if (!(await isShopThere(connection, shopKey))) throw new WorkspaceGone();
}

const isShopErasing = queryAny<[shopKey: number]>(
  "find_erasing_shop",
  "select 1 as is_erasing from workspace where shop_key = $1 and erase_after is not null",
);

/** The same for a run that brings data. Throws `WorkspaceErasing`, too. */
export async function lockShopForRun(
  connection: Connection,
  shopKey: number,
  onWait?: () => void,
): Promise<void> {
  await lockShop(connection, shopKey, onWait);
  if (await isShopErasing(connection, shopKey)) throw new WorkspaceErasing();
}

/** The staged tables of one row each for a key, and the columns of that. */
const STAGED_KEYS = {
  staged_product: "product_gid",
  staged_variant: "variant_id",
  staged_label: "label_id",
  staged_sale_event: "slug",
} as const;

type KeyedTable = keyof typeof STAGED_KEYS;

export type StagedTable = KeyedTable | "staged_order_row";

/** Gives the planner the sizes of the staged rows. */
export async function analyzeStage(connection: Connection): Promise<void> {
  await connection.client.query(`analyze ${Object.keys(STAGED_KEYS).join(", ")}`);
}

/** Removes all but the last of rows with one key; returns how many. Rows of orders keep theirs. */
export async function removeRepeatedRows(connection: Connection, table: StagedTable): Promise<number> {
  if (table === "staged_order_row") return 0;
  const key = STAGED_KEYS[table];
  const { rowCount } = await connection.client.query(
    `delete from ${table} s using (
       select ${key}, max(line_number) as last_line from ${table} group by ${key} having count(*) > 1
     ) r where s.${key} = r.${key} and s.line_number < r.last_line`,
  );
  return rowCount ?? 0;
}

/** Rows of each kind that stay in the stage, for the report of the run. */
export type StagedCounts = {
  products: number;
  variants: number;
  return_labels: number;
  sale_events: number;
  /** The others do not count these. */
  deleted_labels: number;
  deleted_sale_events: number;
};

/** Counts the staged rows but those of orders. */
export const countStaged = requireRow<StagedCounts, [], Connection>(
  "count_staged",
  `select (select count(*) from staged_product) as products,
                (select count(*) from staged_variant) as variants,
                (select count(*) from staged_label where not deleted) as return_labels,
                (select count(*) from staged_sale_event where not deleted) as sale_events,
                (select count(*) from staged_label where deleted) as deleted_labels,
                (select count(*) from staged_sale_event where deleted) as deleted_sale_events`,
);

/** One order of the stage; `rows` is JSON: an array of line number, kind, whether it is deleted, and record for each row. */
export type StagedOrderRow = { order_id: string; rows: string };

/** Opens the cursor over all staged orders by id: a sort of the stage, so that they are written in key order. */
export const openStagedOrders = cursor<StagedOrderRow>(
  "staged_order",
  200,
  `select s.order_id,
            '[' || string_agg('[' || s.line_number || ',"' || s.kind || '",' || s.deleted || ',' || s.record || ']', ',') || ']'
              as rows
       from staged_order_row s group by s.order_id order by s.order_id`,
);

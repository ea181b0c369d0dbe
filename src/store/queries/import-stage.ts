import type { Connection } from "../database.ts";
import { command, cursor, queryAny, queryValue, requireRow, requireValue } from "../query.ts";
import type { ProductRow, VariantRow } from "./catalogue.ts";
import type { LabelRow } from "./label-write.ts";
import type { SaleEventRow } from "./report-figures.ts";
import { IS_STOPPED, SERVED_READINESS } from "./workspace-directory.ts";

/**
 * A connector's input, one row per source row with its line number, only the key of a deleted one: tables of the session, dropped
 * at its commit, which no statement joins with workspace tables. Texts have the same collation.
 */
const CREATE_STAGE = `
create temp table staged_product (
  line_number integer, product_gid text collate "C", title text, handle text, vendor text, family text collate "C",
  analytics_category text collate "C", image_url text, image_alt text
) on commit drop;
create temp table staged_variant (
  line_number integer, variant_id text collate "C", product_gid text collate "C", sku text collate "C", title text,
  used boolean, counterpart_sku text, unit_cost_minor bigint, image_url text, options jsonb not null
) on commit drop;
create temp table staged_order_row (line_number integer, order_id text collate "C", rows text) on commit drop;
alter table staged_order_row alter rows set storage external;
create temp table staged_label (
  line_number integer, label_id text collate "C", order_id text, return_id text, order_name text,
  tracking_number text, charged_at timestamptz, amount_minor bigint, currency_code text, voided_at timestamptz,
  deleted boolean not null default false
) on commit drop;
create temp table staged_sale_event (
  line_number integer, slug text collate "C", label text, starts_on date, ends_on date, skus text[],
  deleted boolean not null default false
) on commit drop`;

/** Creates the empty tables of a run. */
export async function createStage(connection: Connection): Promise<void> {
  await connection.client.query(CREATE_STAGE);
}

/** The workspace was erased meanwhile: there is nothing left to write for it. */
export class WorkspaceGone extends Error {
  override name = "WorkspaceGone";
  override message = "the workspace does not exist";
}

/** Nothing is written for the workspace, unless its erasure or its move is canceled. */
export class WorkspaceStopped extends Error {
  override name = "WorkspaceStopped";
  readonly readiness: "erasing" | "moving";

  constructor(readiness: WorkspaceStopped["readiness"]) {
    super(
      readiness === "erasing"
        ? "The workspace is going to be erased."
        : "The workspace is moving to another installation.",
    );
    this.readiness = readiness;
  }
}

const tryLockWorkspace = requireValue<boolean, [shopKey: number]>(
  "try_lock_workspace",
  "select pg_try_advisory_xact_lock(hashtextextended('shop data', $1)) as is_locked from coordinator",
);

const waitForWorkspace = command<[shopKey: number]>(
  "lock_workspace",
  "select pg_advisory_xact_lock(hashtextextended('shop data', $1)) is null as locked from coordinator",
);

const isWorkspaceThere = queryAny<[shopKey: number]>(
  "find_locked_workspace",
  "select 1 as is_there from workspace where shop_key = $1",
);

/**
 * Waits until no other run writes this workspace's data; held to the end of the transaction. `onWait` is called if there is
 * another one. Throws `WorkspaceGone`: not every table would refuse the rows of an erased workspace.
 */
export async function lockWorkspace(
  connection: Connection,
  shopKey: number,
  onWait: () => void = () => {},
): Promise<void> {
  if (!(await tryLockWorkspace(connection, shopKey))) {
    onWait();
    await waitForWorkspace(connection, shopKey);
  }
  if (!(await isWorkspaceThere(connection, shopKey))) throw new WorkspaceGone();
}

/** Why nothing of a workspace is served, fetched or changed; null = it is. Primary key. */
export const findStop = queryValue<WorkspaceStopped["readiness"], [shopKey: number]>(
  "find_stop",
  `select ${SERVED_READINESS} as readiness from workspace w where w.shop_key = $1 and ${IS_STOPPED}`,
);

/** The same for a run that brings data. Throws `WorkspaceStopped`, too. */
export async function lockWorkspaceForRun(
  connection: Connection,
  shopKey: number,
  onWait?: () => void,
): Promise<void> {
  await lockWorkspace(connection, shopKey, onWait);
  const stop = await findStop(connection, shopKey);
  if (stop !== null) throw new WorkspaceStopped(stop);
}

/** The staged tables with one row per key, and their key columns. */
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

/** Rows of each kind that remain in the stage, for the run's report. */
export type StagedCounts = {
  products: number;
  variants: number;
  return_labels: number;
  sale_events: number;
  /** The others do not count these. */
  deleted_labels: number;
  deleted_sale_events: number;
};

/** Counts the staged rows, except those of orders. */
export const countStaged = requireRow<StagedCounts, [], Connection>(
  "count_staged",
  `select (select count(*) from staged_product) as products,
                (select count(*) from staged_variant) as variants,
                (select count(*) from staged_label where not deleted) as return_labels,
                (select count(*) from staged_sale_event where not deleted) as sale_events,
                (select count(*) from staged_label where deleted) as deleted_labels,
                (select count(*) from staged_sale_event where deleted) as deleted_sale_events`,
);

/** Limit of the staged rows of an order: a fetch of orders is in memory as objects. */
export const MOST_ORDER_BYTES = 4 * 1024 ** 2;
const IS_TOO_LARGE = `sum(octet_length(s.rows)) > ${MOST_ORDER_BYTES}`;
const ROWS_OF_ORDER = "string_agg(s.rows, ',' order by s.line_number)";

/** One order of the stage; `rows` is what was staged of it, separated by commas, or the start of that. */
export type StagedOrderRow = { order_id: string; is_too_large: boolean; rows: string };

/**
 * Opens the cursor over all staged orders by id: a sort of the stage, so that they are written in key order. The texts themselves,
 * uncompressed beside their rows, are not sorted.
 */
export const openStagedOrders = cursor<StagedOrderRow>(
  "staged_order",
  200,
  `select s.order_id, ${IS_TOO_LARGE} as is_too_large,
            case when ${IS_TOO_LARGE} then left(${ROWS_OF_ORDER}, 100) else ${ROWS_OF_ORDER} end as rows
       from staged_order_row s group by s.order_id order by s.order_id`,
  requireValue(
    "measure_staged_orders",
    `select coalesce(max(o.bytes), 0)::float8 as longest
       from (select least(sum(octet_length(s.rows)), ${MOST_ORDER_BYTES}) as bytes from staged_order_row s group by s.order_id) o`,
  ),
);

/** Rows of the stage that one statement takes to their workspace. */
const ROWS_PER_STATEMENT = 5000;

/** Opens the cursor over the staged products, in key order. */
export const openStagedProducts = cursor<ProductRow>(
  "staged_product_row",
  ROWS_PER_STATEMENT,
  `select s.product_gid, s.title, s.handle, s.vendor, s.family, s.analytics_category, s.image_url, s.image_alt,
            false as from_lines
       from staged_product s order by s.product_gid`,
);

/** Opens the cursor over the staged variants, in key order. */
export const openStagedVariants = cursor<VariantRow>(
  "staged_variant_row",
  ROWS_PER_STATEMENT,
  `select s.variant_id, s.product_gid, s.sku, s.title, s.used, s.counterpart_sku, s.unit_cost_minor, s.image_url, s.options
       from staged_variant s order by s.variant_id`,
);

/** Opens the cursor over the staged labels that are not deleted, in key order. */
export const openStagedLabels = cursor<LabelRow>(
  "staged_label_row",
  ROWS_PER_STATEMENT,
  `select s.label_id, s.order_id, s.return_id, s.order_name, s.tracking_number, s.charged_at::text, s.amount_minor,
            s.currency_code, s.voided_at::text
       from staged_label s where not s.deleted order by s.label_id`,
);

/** Opens the cursor over the labels that staged rows delete. */
export const openDeletedLabels = cursor<Pick<LabelRow, "label_id">>(
  "deleted_label",
  ROWS_PER_STATEMENT,
  "select s.label_id from staged_label s where s.deleted order by s.label_id",
);

/** Opens the cursor over the staged sale events that are not deleted: each may name a megabyte of SKUs. */
export const openStagedSaleEvents = cursor<SaleEventRow>(
  "staged_sale_event_row",
  10,
  `select s.slug, s.label, s.starts_on, s.ends_on, s.skus
       from staged_sale_event s where not s.deleted order by s.slug`,
);

/** Opens the cursor over the sale events that staged rows delete. */
export const openDeletedSaleEvents = cursor<Pick<SaleEventRow, "slug">>(
  "deleted_sale_event",
  ROWS_PER_STATEMENT,
  "select s.slug from staged_sale_event s where s.deleted order by s.slug",
);

const WITHOUT_UNUSABLE = "set image_url = null where image_url !~* '^https?://[^/[:space:]]' returning 1";

/** Removes image addresses that are not http(s) from the staged rows, because pages show them. Returns how many. */
export const dropUnusableImages = requireValue<number, [], Connection>(
  "drop_unusable_images",
  `with p as (update staged_product ${WITHOUT_UNUSABLE}), v as (update staged_variant ${WITHOUT_UNUSABLE})
         select (select count(*) from p) + (select count(*) from v) as dropped`,
);

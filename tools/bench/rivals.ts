import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBPreparedStatement } from "@duckdb/node-api";
import pgCopy from "pg-copy-streams";
import { REFUND_ONLY } from "../../src/metrics/returned-units.ts";
import type { Database } from "../../src/store/database.ts";

/** What a question is about; `key` as the API takes it. */
export type Subject = { kind: "workspace" | "sku" | "product" | "family" | "vendor"; key: string };

/** First days of months, the second one not included. */
export type Months = { from: string; to: string };

export type Row = Record<string, unknown>;

/** How often a database makes a part of a WITH clause: as it decides by itself, or wherever the part is named. */
export const SHARINGS = ["as", "as not materialized"] as const;
export type Sharing = (typeof SHARINGS)[number];

/**
 * How one rival names its tables: the text of a WITH clause with line, returned, refunded, labeled and requested, each
 * cut down to the lines of a subject that were sold in some months, and the labels that belong to no line.
 *
 * - line: line_id, month, sku, sold_units
 * - returned: line_id, month, sku, lag_days, reason, units
 * - refunded: line_id, month, sku, lag_days, units, refund_minor, restocked_cost_minor
 * - labeled: line_id, month, sku, lag_days, label_minor
 * - requested: status, units
 */
export type Dialect = {
  lines(subject: Subject, months: Months): string;
  unmatchedLabels(months: Months): string;
};

/** The statements of a question, in a rival's own tables. */
export type Statements = (dialect: Dialect) => string[];

/** Runs the statements of a question, each prepared once; returns the rows of each. */
export type Rival = (statements: Statements, sharing: Sharing) => Promise<Row[][]>;

function rivalOf(dialectOf: (sharing: Sharing) => Dialect, run: (text: string) => Promise<Row[]>): Rival {
  return async (statements, sharing) => {
    const results: Row[][] = [];
    for (const text of statements(dialectOf(sharing))) results.push(await run(text));
    return results;
  };
}

/**
 * What a team would write otherwise: the orders, returns and refunds of one shop in tables of their own, in the same
 * PostgreSQL, with an index for each way of asking. Narrow numeric keys and one shop only, to its advantage. `asking`:
 * one connection, with parallel and custom plans as PostgreSQL has them by default.
 */
export async function loadNormalized(database: Database, shopKey: number, asking: Database): Promise<Rival> {
  await database.transaction(async ({ client }) => {
    await client.query("set local synchronous_commit = off; set local work_mem = '128MB'");
    await client.query("drop schema if exists rival cascade; create schema rival");
    await client.query(normalizedTables(shopKey));
    await client.query("set local maintenance_work_mem = '512MB'");
    for (const [table, [primaryKey, ...indexes]] of Object.entries(INDEXES)) {
      await client.query(`alter table rival.${table} add primary key (${primaryKey})`);
      for (const column of indexes) await client.query(`create index on rival.${table} (${column})`);
    }
  });
  const tables = Object.keys(INDEXES).map((table) => `rival.${table}`);
  await database.rows({ name: "rival_vacuum", text: `vacuum analyze ${tables.join(", ")}` }, []);
  const names = new Map<string, string>();
  return rivalOf(normalizedDialect, (text) => {
    const name = names.get(text) ?? `rival_${names.size}`;
    names.set(text, name);
    return asking.rows<Row>({ name, text }, []);
  });
}

/** The primary key of each table and its other indexes. */
const INDEXES = {
  product: ["product_id", "family", "vendor"],
  variant: ["variant_id", "product_id", "sku"],
  orders: ["order_id", "ordered_at"],
  order_line: ["line_id", "order_id", "variant_id"],
  returns: ["return_id", "order_id"],
  return_line: ["return_id, line_id", "line_id"],
  refund: ["refund_id", "return_id", "order_id"],
  refund_line: ["refund_id, line_id", "line_id"],
  label: ["label_id", "return_id", "charged_at"],
};

/** Lines and returns in the order of time. */
function normalizedTables(shopKey: number): string {
  const eventOfRequest = `left join return_event e on e.shop_key = r.shop_key and e.order_id = r.order_id
     and e.line_id = r.line_id and e.event_number = 0`;
  return `
  create table rival.product as
    select right(product_gid, 13)::bigint as product_id, title, vendor, family, analytics_category as category
      from product where shop_key = ${shopKey};
  create table rival.variant as
    select variant_id::bigint, right(product_gid, 13)::bigint as product_id, sku, used, unit_cost_minor
      from variant where shop_key = ${shopKey};
  create table rival.orders as
    select distinct order_id::bigint, ordered_on::timestamptz as ordered_at
      from order_line where shop_key = ${shopKey} order by 1;
  create table rival.order_line as
    select line_id::bigint, order_id::bigint, line_variant_id::bigint as variant_id, greatest(sold_units, 1) as units,
           greatest(sold_units, 1) - sold_units as removed_units
      from order_line where shop_key = ${shopKey} order by 1;
  create table rival.returns as
    select r.return_id::bigint, r.order_id::bigint, r.status, e.occurred_on::timestamptz as closed_at
      from return_request r ${eventOfRequest} and r.status = 'CLOSED'
     where r.shop_key = ${shopKey} order by 1;
  create table rival.return_line as
    select r.return_id::bigint, r.line_id::bigint, r.units, ltrim(e.reason) as reason
      from return_request r ${eventOfRequest} where r.shop_key = ${shopKey} order by 1;
  create table rival.refund as
    select e.line_id::bigint * 2 + e.event_number as refund_id, e.order_id::bigint, e.occurred_on::timestamptz as refunded_at,
           case when e.reason is distinct from '${REFUND_ONLY}' then r.return_id::bigint end as return_id
      from return_event e
      left join return_request r on r.shop_key = e.shop_key and r.order_id = e.order_id and r.line_id = e.line_id
     where e.shop_key = ${shopKey} and e.refunded_units > 0 order by 1;
  create table rival.refund_line as
    select line_id::bigint * 2 + event_number as refund_id, line_id::bigint, refunded_units as units,
           refund_minor as subtotal_minor, case when restocked_units > 0 then 'RETURN' else 'NO_RESTOCK' end as restock_type
      from return_event where shop_key = ${shopKey} and refunded_units > 0 order by 1;
  create table rival.label as
    select label_id, return_id::bigint, charged_at, amount_minor from return_label where shop_key = ${shopKey}`;
}

// The rule of M2 in its short form, which is right for this data: no refund of a return comes before its closing, and
// nothing exceeds its line.
const normalizedDialect = (sharing: Sharing): Dialect => ({
  lines: (subject, months) => `
  with line ${sharing} (
    select l.line_id, o.ordered_at::date as ordered_on, date_trunc('month', o.ordered_at)::date as month, v.sku,
           v.unit_cost_minor, l.units - l.removed_units as sold_units
      from rival.orders o
      join rival.order_line l on l.order_id = o.order_id
      join rival.variant v on v.variant_id = l.variant_id
      join rival.product p on p.product_id = v.product_id
     where o.ordered_at >= '${months.from}' and o.ordered_at < '${months.to}' and l.units > l.removed_units
       ${NORMALIZED_CONDITIONS[subject.kind](subject.key)}
  ), returned ${sharing} (
    select l.line_id, l.month, l.sku, r.closed_at::date - l.ordered_on as lag_days, rl.reason, rl.units
      from line l join rival.return_line rl on rl.line_id = l.line_id
      join rival.returns r on r.return_id = rl.return_id
     where r.status = 'CLOSED'
    union all
    select l.line_id, l.month, l.sku, f.refunded_at::date - l.ordered_on, 'refund_only', fl.units
      from line l join rival.refund_line fl on fl.line_id = l.line_id
      join rival.refund f on f.refund_id = fl.refund_id
     where f.return_id is null
  ), refunded ${sharing} (
    select l.line_id, l.month, l.sku, f.refunded_at::date - l.ordered_on as lag_days, fl.units,
           fl.subtotal_minor as refund_minor,
           case when fl.restock_type = 'RETURN' then fl.units * l.unit_cost_minor end as restocked_cost_minor
      from line l join rival.refund_line fl on fl.line_id = l.line_id
      join rival.refund f on f.refund_id = fl.refund_id
  ), labeled ${sharing} (
    select l.line_id, l.month, l.sku, b.charged_at::date - l.ordered_on as lag_days, b.amount_minor as label_minor
      from line l join rival.return_line rl on rl.line_id = l.line_id
      join rival.label b on b.return_id = rl.return_id
  ), requested ${sharing} (
    select r.status, rl.units
      from line l join rival.return_line rl on rl.line_id = l.line_id
      join rival.returns r on r.return_id = rl.return_id
  )`,
  unmatchedLabels: ({ from, to }) => `
    select coalesce(sum(b.amount_minor), 0) as label_minor from rival.label b
     where b.return_id is null and b.charged_at >= '${from}' and b.charged_at < '${to}'`,
});

type Conditions = Record<Subject["kind"], (key: string) => string>;

const NORMALIZED_CONDITIONS: Conditions = {
  workspace: () => "",
  sku: (key) => `and v.sku = '${key}'`,
  product: (key) => `and v.product_id = ${key.slice(-13)} and not v.used`,
  family: (key) => `and p.family = '${key}'`,
  vendor: (key) => `and p.vendor = '${key}'`,
};

/** DuckDB in this process, over the same facts in memory, with all processors; they pass through files in `folder`. */
export async function openColumnar(
  database: Database,
  shopKey: number,
  folder: string,
): Promise<{ ask: Rival; close(): void }> {
  mkdirSync(folder, { recursive: true });
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  for (const [table, [columns, select]] of Object.entries(columnarTables(shopKey))) {
    const file = join(folder, `${table}.csv`);
    await database.transaction(async ({ client }) => {
      const rows = client.query(pgCopy.to(`copy (${select}) to stdout with (format csv)`));
      await pipeline(rows, createWriteStream(file));
    });
    await connection.run(`create table ${table} (${columns})`);
    await connection.run(`copy ${table} from '${file}' (format csv, header false)`);
  }
  const prepared = new Map<string, DuckDBPreparedStatement>();
  const ask = rivalOf(columnarDialect, async (text) => {
    const statement = prepared.get(text) ?? (await connection.prepare(text));
    prepared.set(text, statement);
    return (await statement.runAndReadAll()).getRowObjectsJson();
  });
  const close = (): void => {
    connection.closeSync();
    instance.closeSync();
  };
  return { ask, close };
}

/** Columns and content of each table, facts in the order of time. */
function columnarTables(shopKey: number): Record<string, [columns: string, select: string]> {
  const ofShop = `where shop_key = ${shopKey}`;
  const inOrder = `${ofShop} order by order_id, line_id`;
  return {
    product: [
      "product_gid varchar, vendor varchar, family varchar",
      `select product_gid, vendor, family from product ${ofShop}`,
    ],
    order_line: [
      `line_id bigint, cohort_month date, sku varchar, product_gid varchar, used boolean,
                unit_cost_minor bigint, sold_units integer`,
      `select line_id, cohort_month, sku, product_gid, used, unit_cost_minor, sold_units from order_line ${inOrder}`,
    ],
    return_event: [
      `line_id bigint, lag_days integer, reason varchar, returned_units integer, refunded_units integer,
                restocked_units integer, refund_minor bigint`,
      `select line_id, lag_days, ltrim(reason), returned_units, refunded_units, restocked_units, refund_minor
                 from return_event ${inOrder}`,
    ],
    return_request: [
      "line_id bigint, status varchar, units integer",
      `select line_id, status, units from return_request ${inOrder}`,
    ],
    label_share: [
      "line_id bigint, label_id varchar, lag_days integer, label_minor bigint",
      `select line_id, label_id, lag_days, label_minor from label_share ${inOrder}`,
    ],
    return_label: [
      "label_id varchar, charged_on date, amount_minor bigint",
      `select label_id, charged_at::date, amount_minor from return_label ${ofShop}`,
    ],
  };
}

const columnarDialect = (sharing: Sharing): Dialect => ({
  lines: (subject, months) => `
  with line ${sharing} (
    select l.line_id, l.cohort_month as month, l.sku, l.unit_cost_minor, l.sold_units
      from order_line l
     where l.cohort_month >= '${months.from}' and l.cohort_month < '${months.to}' and l.sold_units > 0
       ${COLUMNAR_CONDITIONS[subject.kind](subject.key)}
  ), returned ${sharing} (
    select l.line_id, l.month, l.sku, e.lag_days, e.reason, e.returned_units as units
      from line l join return_event e on e.line_id = l.line_id where e.returned_units > 0
  ), refunded ${sharing} (
    select l.line_id, l.month, l.sku, e.lag_days, e.refunded_units as units, e.refund_minor,
           e.restocked_units * l.unit_cost_minor as restocked_cost_minor
      from line l join return_event e on e.line_id = l.line_id
  ), labeled ${sharing} (
    select l.line_id, l.month, l.sku, h.lag_days, h.label_minor from line l join label_share h on h.line_id = l.line_id
  ), requested ${sharing} (
    select q.status, q.units from line l join return_request q on q.line_id = l.line_id
  )`,
  unmatchedLabels: ({ from, to }) => `
    select coalesce(sum(b.amount_minor), 0) as label_minor from return_label b
     where b.charged_on >= '${from}' and b.charged_on < '${to}'
       and not exists (select 1 from label_share h where h.label_id = b.label_id)`,
});

const ofProducts = (condition: string): string =>
  `and l.product_gid in (select p.product_gid from product p where ${condition})`;

const COLUMNAR_CONDITIONS: Conditions = {
  workspace: () => "",
  sku: (key) => `and l.sku = '${key}'`,
  product: (key) => `and l.product_gid = '${key}' and not l.used`,
  family: (key) => ofProducts(`p.family = '${key}'`),
  vendor: (key) => ofProducts(`p.vendor = '${key}'`),
};

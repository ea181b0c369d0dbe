import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBPreparedStatement } from "@duckdb/node-api";
import pgCopy from "pg-copy-streams";
import type { Database } from "../../src/store/database.ts";

/** What a question is about; `key` as the API takes it. */
export type Subject = { kind: "workspace" | "sku" | "product" | "family" | "vendor"; key: string };

/** First days of months, the second one not included. */
export type Months = { from: string; to: string };

export type Row = Record<string, unknown>;

/** Whether DuckDB decides how often to compute a part of a WITH clause, or computes it at each use. */
export const SHARINGS = ["as", "as not materialized"] as const;
export type Sharing = (typeof SHARINGS)[number];

/** The statements of a question. */
export type Statements = (sharing: Sharing) => string[];

/** Runs the statements of a question, each prepared once; returns the rows of each. */
export type Rival = (statements: readonly string[]) => Promise<Row[][]>;

/** DuckDB in this process with the same facts in memory, using all processors; facts are transferred by files in `folder`. */
export async function openDuckDb(
  database: Database,
  shopKey: number,
  folder: string,
): Promise<{ ask: Rival; close(): void }> {
  mkdirSync(folder, { recursive: true });
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  for (const [table, [columns, select]] of Object.entries(duckDbTables(shopKey))) {
    const file = join(folder, `${table}.csv`);
    await database.transaction(async ({ client }) => {
      const rows = client.query(pgCopy.to(`copy (${select}) to stdout with (format csv)`));
      await pipeline(rows, createWriteStream(file));
    });
    await connection.run(`create table ${table} (${columns})`);
    await connection.run(`copy ${table} from '${file}' (format csv, header false)`);
  }
  const prepared = new Map<string, DuckDBPreparedStatement>();
  const ask: Rival = async (statements) => {
    const results: Row[][] = [];
    for (const text of statements) {
      const statement = prepared.get(text) ?? (await connection.prepare(text));
      prepared.set(text, statement);
      results.push((await statement.runAndReadAll()).getRowObjectsJson());
    }
    return results;
  };
  const close = (): void => {
    connection.closeSync();
    instance.closeSync();
  };
  return { ask, close };
}

/** Columns and content of each table, with facts ordered by time. */
function duckDbTables(shopKey: number): Record<string, [columns: string, select: string]> {
  const ofWorkspace = `where shop_key = ${shopKey}`;
  const inOrder = `${ofWorkspace} order by order_id, line_id`;
  return {
    product: [
      "product_gid varchar, vendor varchar, family varchar",
      `select product_gid, vendor, family from product ${ofWorkspace}`,
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
      `select label_id, charged_at::date, amount_minor from return_label ${ofWorkspace}`,
    ],
  };
}

/**
 * A WITH clause of a subject's lines sold in some months, with their returns, refunds and labels:
 *
 * - line: line_id, month, sku, sold_units
 * - returned: line_id, month, sku, lag_days, reason, units
 * - refunded: line_id, month, sku, lag_days, units, refund_minor, restocked_cost_minor
 * - labeled: line_id, month, sku, lag_days, label_minor
 * - requested: status, units
 */
export const linesOf = (sharing: Sharing, subject: Subject, months: Months): string => `
  with line ${sharing} (
    select l.line_id, l.cohort_month as month, l.sku, l.unit_cost_minor, l.sold_units
      from order_line l
     where l.cohort_month >= '${months.from}' and l.cohort_month < '${months.to}' and l.sold_units > 0
       ${CONDITIONS[subject.kind](subject.key)}
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
  )`;

/** The cost of labels of no line. */
export const unmatchedLabels = ({ from, to }: Months): string => `
    select coalesce(sum(b.amount_minor), 0) as label_minor from return_label b
     where b.charged_on >= '${from}' and b.charged_on < '${to}'
       and not exists (select 1 from label_share h where h.label_id = b.label_id)`;

const ofProducts = (condition: string): string =>
  `and l.product_gid in (select p.product_gid from product p where ${condition})`;

const CONDITIONS: Record<Subject["kind"], (key: string) => string> = {
  workspace: () => "",
  sku: (key) => `and l.sku = '${key}'`,
  product: (key) => `and l.product_gid = '${key}' and not l.used`,
  family: (key) => ofProducts(`p.family = '${key}'`),
  vendor: (key) => ofProducts(`p.vendor = '${key}'`),
};

import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";
import pgCopy from "pg-copy-streams";
import type { Database } from "../../src/store/database.ts";
import type { Dialect, Question, Row, Sharing, Subject } from "./question.ts";

/** DuckDB in this process, over the same facts in memory, with all processors. */
export type Columnar = { ask(question: Question, sharing: Sharing): Promise<Row[][]>; close(): void };

/** Copies a shop's facts and catalogue into DuckDB, through files in `folder`. */
export async function openColumnar(database: Database, shopKey: number, folder: string): Promise<Columnar> {
  mkdirSync(folder, { recursive: true });
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  for (const [table, { columns, select }] of Object.entries(tables(shopKey))) {
    const file = join(folder, `${table}.csv`);
    await database.transaction(async ({ client }) => {
      const rows = client.query(pgCopy.to(`copy (${select}) to stdout with (format csv)`));
      await pipeline(rows, createWriteStream(file));
    });
    const names = Object.entries(columns).map(([name, type]) => `'${name}': '${type}'`);
    await connection.run(
      `create table ${table} as select * from read_csv('${file}', header = false, columns = {${names.join(", ")}})`,
    );
  }
  return openAsker(connection, instance);
}

function openAsker(connection: DuckDBConnection, instance: DuckDBInstance): Columnar {
  const prepared = new Map<string, DuckDBPreparedStatement>();
  return {
    ask: async (question, sharing) => {
      const results: Row[][] = [];
      for (const text of question.statements(dialectOf(sharing))) {
        const statement = prepared.get(text) ?? (await connection.prepare(text));
        prepared.set(text, statement);
        results.push((await statement.runAndReadAll()).getRowObjectsJson());
      }
      return results;
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

type Source = { columns: Record<string, string>; select: string };

/** Facts in the order of time. */
function tables(shopKey: number): Record<string, Source> {
  return {
    product: {
      columns: { product_gid: "varchar", vendor: "varchar", family: "varchar" },
      select: `select product_gid, vendor, family from product where shop_key = ${shopKey}`,
    },
    order_line: {
      columns: {
        line_id: "bigint",
        cohort_month: "date",
        sku: "varchar",
        product_gid: "varchar",
        used: "boolean",
        unit_cost_minor: "bigint",
        sold_units: "integer",
      },
      select: `select line_id, cohort_month, sku, product_gid, used, unit_cost_minor, sold_units
                 from order_line where shop_key = ${shopKey} order by order_id, line_id`,
    },
    return_event: {
      columns: {
        line_id: "bigint",
        lag_days: "integer",
        reason: "varchar",
        returned_units: "integer",
        refunded_units: "integer",
        restocked_units: "integer",
        refund_minor: "bigint",
      },
      select: `select line_id, lag_days, ltrim(reason) as reason, returned_units, refunded_units, restocked_units, refund_minor
                 from return_event where shop_key = ${shopKey} order by order_id, line_id`,
    },
    return_request: {
      columns: { line_id: "bigint", status: "varchar", units: "integer" },
      select: `select line_id, status, units from return_request where shop_key = ${shopKey} order by order_id, line_id`,
    },
    label_share: {
      columns: { line_id: "bigint", label_id: "varchar", lag_days: "integer", label_minor: "bigint" },
      select: `select line_id, label_id, lag_days, label_minor
                 from label_share where shop_key = ${shopKey} order by order_id, line_id`,
    },
    return_label: {
      columns: { label_id: "varchar", charged_on: "date", amount_minor: "bigint" },
      select: `select label_id, charged_at::date, amount_minor from return_label where shop_key = ${shopKey}`,
    },
  };
}

const dialectOf = (sharing: Sharing): Dialect => ({
  lines: (subject, months) => `
  with line ${sharing} (
    select l.line_id, l.cohort_month as month, l.sku, l.unit_cost_minor, l.sold_units
      from order_line l
     where l.cohort_month >= '${months.from}' and l.cohort_month < '${months.to}' and l.sold_units > 0
       ${condition(subject)}
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

function condition(subject: Subject): string {
  switch (subject.kind) {
    case "workspace":
      return "";
    case "sku":
      return `and l.sku = '${subject.key}'`;
    case "product":
      return `and l.product_gid = '${subject.key}' and not l.used`;
    case "family":
    case "vendor":
      return `and l.product_gid in (select p.product_gid from product p where p.${subject.kind} = '${subject.key}')`;
  }
}

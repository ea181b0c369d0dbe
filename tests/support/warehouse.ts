import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance, type DuckDBConnection } from "@duckdb/node-api";
import { makeFolder } from "./folder.ts";
import type { Body, ServiceCaller } from "./service.ts";

/** Compares docs/sql with the API: both compute the same figures of a store. */

export const SQL = join(import.meta.dirname, "../../docs/sql");

const statements = Object.fromEntries(
  [
    "setup",
    "summary",
    "timeseries",
    "report-trend",
    "reasons",
    "costs",
    "return-rate-leaderboard",
    "return-cost-leaderboard",
  ].map((name) => [name, readFileSync(join(SQL, `${name}.sql`), "utf8")]),
);

export type Row = Record<string, unknown>;
type Value = string | number | boolean | null;
type Selector = Record<string, string>;
export type Store = { call: ServiceCaller; token: string; address: string };

/** Rows as JSON has them: amounts and sums as numbers, days as text. */
async function rowsOf(duckdb: DuckDBConnection, name: string): Promise<Row[]> {
  const reader = await duckdb.runAndReadAll(statements[name] ?? "");
  return reader
    .getRowObjectsJson()
    .map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => [
          column,
          typeof value === "string" &&
          /^-?\d+(?:\.\d+)?$/u.test(value) &&
          column !== "sku" &&
          column !== "reason"
            ? Number(value)
            : value,
        ]),
      ),
    );
}

function literal(value: Value): string {
  if (typeof value !== "string") return String(value);
  return /^\d{4}-\d{2}-\d{2}$/u.test(value) ? `date '${value}'` : `'${value.replaceAll("'", "''")}'`;
}

async function setVariables(duckdb: DuckDBConnection, values: Record<string, Value>): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `set variable ${name} = ${literal(value)};`);
  await duckdb.run(lines.join("\n"));
}

/** The members of `expected`, and no other rows. */
function assertSame(actual: readonly Row[], expected: readonly Row[], title: string): void {
  const names = Object.keys(actual[0] ?? {});
  const picked = expected.map((row) => Object.fromEntries(names.map((name) => [name, row[name] ?? null])));
  assert.deepEqual(actual, picked, title);
}

const WINDOWS: Record<string, (primary: number) => number | null> = {
  primary: (days) => days,
  "30d": () => 30,
  "90d": () => 90,
  lifetime: () => null,
};

const UNSELECTED = { sku: null, product_gid: null, family: null, analytics_category: null, vendor: null };

function variablesOf(selector: Selector): Record<string, Value> {
  const { product_group_type: type, product_group_key: key, ...rest } = selector;
  const group = type === undefined ? {} : { [type]: key ?? null };
  return { ...UNSELECTED, include_used_variants: false, ...rest, ...group };
}

/** Downloads the tables of a store, and compares every figure of the workspace (`isWhole`) and some selections with the API's. */
export async function compareStore(
  { call, token, address }: Store,
  title: string,
  turn: number,
  {
    isWhole = true,
    selections = 1,
    alsoCheck,
  }: { isWhole?: boolean; selections?: number; alsoCheck?: (duckdb: DuckDBConnection) => Promise<void> } = {},
): Promise<void> {
  const folder = makeFolder();
  // For a small store several threads take longer than one.
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const duckdb = await instance.connect();
  const get = async (path: string, params: Record<string, Value>): Promise<Body> =>
    (await call(path, { token, params: params as Selector, isUnlimited: true })).json();
  try {
    // No statement of docs/sql reads cohorts.
    for (const table of ["order_lines", "returns", ...(alsoCheck === undefined ? [] : ["cohorts"])]) {
      const response = await fetch(`${address}/api/v1/export/tables/${table}.parquet`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await writeFile(join(folder, `${table}.parquet`), new Uint8Array(await response.arrayBuffer()));
    }
    const { data: tables, meta } = await get("/api/v1/export/tables", {});
    await duckdb.run(`set file_search_path = '${folder}'`);
    await duckdb.run(statements["setup"] ?? "");
    const primary = Number(meta["primary_window_days"]);
    const asOf = meta["data_as_of"] as string | null;
    await setVariables(duckdb, {
      as_of: asOf === null ? null : asOf.slice(0, 10),
      primary_window_days: primary,
      min_sold_units: Number(meta["min_sold_units"]),
      label_costs_included: meta["label_costs_included"] === true,
    });
    const lines = tables.find(({ name }) => name === "order_lines") as {
      start_month: string;
      end_month: string;
    };
    const entities = (await get("/api/v1/entities", { limit: 100 })).data as unknown as {
      selector: Selector;
    }[];
    const others = Array.from({ length: selections }, (_, index) => {
      const selector = entities[(turn * 7 + index * 5) % entities.length]?.selector ?? {};
      const isUsed = (turn + index) % 2 === 0 && ("sku" in selector || "product_gid" in selector);
      return isUsed ? { ...selector, include_used_variants: "true" } : selector;
    });
    for (const [index, selector] of [...(isWhole ? [{}] : []), ...others].entries()) {
      const window = Object.keys(WINDOWS)[(turn + index) % 4] ?? "primary";
      const isIncomplete = (turn + index) % 3 === 0;
      const range = { start_month: lines.start_month, end_month: lines.end_month };
      const params = { ...selector, ...range, window, include_incomplete: isIncomplete };
      const period = (turn + index) % 2 === 0 ? "year" : "month";
      await setVariables(duckdb, {
        ...variablesOf(selector),
        ...("include_used_variants" in selector ? { include_used_variants: true } : {}),
        start_month: `${range.start_month}-01`,
        end_month: `${range.end_month}-01`,
        window_days: WINDOWS[window]?.(primary) ?? null,
        include_incomplete: isIncomplete,
        period,
      });
      const place = `${title} ${JSON.stringify({ ...params, period })}`;
      const [summary, series, report, rates, costs] = await Promise.all([
        get("/api/v1/summary", params),
        get("/api/v1/timeseries", params),
        get("/api/v1/report", params),
        get("/api/v1/leaderboards/return-rate", { ...selector, period, limit: 500 }),
        get("/api/v1/leaderboards/return-cost", { ...params, limit: 100 }),
      ]);
      const listOf = ({ data }: Body, name: string) => data[name] as Row[];
      assertSame(await rowsOf(duckdb, "summary"), [summary.data], place);
      assertSame(await rowsOf(duckdb, "timeseries"), listOf(series, "rows"), place);
      assertSame(await rowsOf(duckdb, "report-trend"), listOf(report, "trend"), place);
      assertSame(await rowsOf(duckdb, "reasons"), listOf(report, "return_reasons"), place);
      assertSame(await rowsOf(duckdb, "costs"), [report.data["costs"] as Row], place);
      const ranked = (body: Body) => listOf(body, "rows").map((row, at) => ({ ...row, rank: at + 1 }));
      assertSame((await rowsOf(duckdb, "return-rate-leaderboard")).slice(0, 500), ranked(rates), place);
      assertSame((await rowsOf(duckdb, "return-cost-leaderboard")).slice(0, 100), ranked(costs), place);
    }
    await alsoCheck?.(duckdb);
  } finally {
    duckdb.closeSync();
    instance.closeSync();
  }
}

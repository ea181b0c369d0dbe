import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DuckDBInstance, type DuckDBConnection } from "@duckdb/node-api";
import { parse } from "csv-parse/sync";
import { TABLES, type ColumnType, type TableName } from "../contract/tables.ts";
import { STATEMENTS } from "../store/database.ts";
import { service } from "../../tests/support/shared-service.ts";
import { createSmallStore } from "../../tests/support/small-store.ts";
import { createTenant, type Tenant } from "../../tests/support/tenants.ts";
import { makeFolder } from "../../tests/support/folder.ts";

let tenant: Tenant;
const folder = makeFolder();
let duckdb: DuckDBConnection;
before(async () => {
  tenant = await createSmallStore(service.database);
  duckdb = await (await DuckDBInstance.create(":memory:")).connect();
});
after(() => duckdb.closeSync());

async function fetchFile(file: string, token = tenant.token): Promise<Uint8Array> {
  const response = await fetch(`${service.address}/api/v1/export/tables/${file}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200);
  return new Uint8Array(await response.arrayBuffer());
}

/** A table as DuckDB reads it from Parquet. */
async function readTable(query: string): Promise<{ types: string[]; rows: Record<string, unknown>[] }> {
  const [name = "", range = ""] = query.split("?");
  const file = join(folder, `${name}.parquet`);
  await writeFile(file, await fetchFile(`${name}.parquet?${range}`));
  const reader = await duckdb.runAndReadAll(`from '${file}'`);
  return {
    types: reader.columnTypes().map(String),
    rows: reader.getRowObjectsJson(),
  };
}

const DUCKDB_TYPES: Readonly<Record<ColumnType, string>> = {
  text: "VARCHAR",
  integer: "BIGINT",
  boolean: "BOOLEAN",
  date: "DATE",
  timestamp: "TIMESTAMP WITH TIME ZONE",
  money: "DECIMAL(18,2)",
};

for (const { name, columns } of TABLES) {
  test(`${name}: DuckDB reads every column in its type, and CSV and the list say the same`, async () => {
    const { types, rows } = await readTable(name);
    assert.deepEqual(
      types,
      columns.map(({ type }) => DUCKDB_TYPES[type]),
    );
    assert.ok(rows.length > 0);
    const csv = Buffer.from(await fetchFile(`${name}.csv`)).toString();
    const lines = parse(csv, { columns: true }) as unknown as Record<string, string>[];
    const cellOf = (value: unknown, type: ColumnType): string => {
      if (typeof value === "string") return type === "timestamp" ? new Date(value).toISOString() : value;
      return value === null ? "" : JSON.stringify(value);
    };
    const cells = rows.map((row) =>
      Object.fromEntries(columns.map((column) => [column.name, cellOf(row[column.name], column.type)])),
    );
    assert.deepEqual(lines, cells);

    const { data, meta } = (
      await service.call("/api/v1/export/tables", { token: tenant.token })
    ).json() as unknown as {
      data: {
        name: string;
        rows: number;
        start_month: string | null;
        end_month: string | null;
        columns: unknown;
      }[];
      meta: { currency_code: string; data_version: number };
    };
    const listed = data.find((table) => table.name === name);
    assert.deepEqual([listed?.rows, listed?.columns], [rows.length, columns]);
    assert.ok(meta.data_version >= 0 && meta.currency_code === "EUR");

    const { month } = TABLES.find((table) => table.name === name) ?? { month: null };
    const months = month === null ? [] : rows.map((row) => String(row[month]).slice(0, 7)).toSorted();
    assert.deepEqual([listed?.start_month, listed?.end_month], [months.at(0) ?? null, months.at(-1) ?? null]);
    const some = months[Math.floor(months.length / 2)];
    if (some === undefined) return;
    const part = await readTable(`${name}?start_month=${some}&end_month=${some}`);
    assert.deepEqual(
      part.rows,
      rows.filter((row) => String(row[month as string]).startsWith(some)),
    );
  });
}

const STATEMENT_OF: Readonly<Record<TableName, string>> = {
  cohorts: "exported_cohort",
  order_lines: "exported_order_line",
  returns: "exported_return",
  catalogue: "exported_catalogue",
  alerts: "exported_alert_row",
};

test("statements select the columns of their tables in order, since values are told apart by it", async () => {
  for (const { name, columns } of TABLES) {
    const select = STATEMENTS.get(STATEMENT_OF[name])?.text.replaceAll(/\$\d+/gu, "null");
    const { fields } = await service.database.query(`select * from (${select}) rows limit 0`);
    const names = fields.map((field) => field.name);
    assert.deepEqual(
      names,
      columns.map((column) => column.name),
    );
  }
});

test("text with every character that COPY escapes, looks like its null, or that a spreadsheet runs, arrives", async () => {
  const { shopKey, token } = await createTenant(service.database, {});
  const texts = ["\\N", "\\", "\\\\t", "a\tb\nc\rd\be\ff\vg", "", 'Grün 👗, "quoted"', "\\."];
  const run = ["=1", "+1", "-1", "@a", "\tb", "\rc"];
  const long = texts.join("|").repeat(5_000);
  const titles = [...texts, ...run, long];
  await service.database.query(
    `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, created_at)
     select $1, 'a' || 100 + n, 'a' || n, 'report_ready', 'info', title, title, '2026-01-05 10:00:00.123456+00'
       from unnest($2::text[]) with ordinality t (title, n)`,
    [shopKey, titles],
  );
  const csv = parse(Buffer.from(await fetchFile("alerts.csv", token)).toString(), {
    columns: true,
  }) as unknown as Record<string, string>[];
  await writeFile(join(folder, "escaped.parquet"), await fetchFile("alerts.parquet", token));
  const reader = await duckdb.runAndReadAll(
    `select title, body, epoch_ms(created_at)::double as created_ms from '${join(folder, "escaped.parquet")}'`,
  );
  assert.deepEqual(
    reader.getRowObjectsJson(),
    titles.map((title) => ({ title, body: title, created_ms: Date.parse("2026-01-05T10:00:00.123Z") })),
  );
  assert.deepEqual(
    csv.map(({ title, created_at: createdAt }) => [title, createdAt]),
    titles.map((title) => [run.includes(title) ? `'${title}` : title, "2026-01-05T10:00:00.123Z"]),
  );
});

const GUIDE = join(import.meta.dirname, "../../docs/guides/warehouse.md");

test("psql loads the CSV of order_lines as docs/guides/warehouse.md says", async (context) => {
  if (spawnSync("psql", ["--version"]).error !== undefined) return context.skip("psql is not installed");
  const [, recipe = ""] = /\*\*psql\*\*[^`]*```sql\n(.*?)```/su.exec(await readFile(GUIDE, "utf8")) ?? [];
  await writeFile(join(folder, "order_lines.csv"), await fetchFile("order_lines.csv"));
  await service.database.query("create schema psql_recipe");
  context.after(() => service.database.query("drop schema psql_recipe cascade"));
  const { stderr, status } = spawnSync(
    "psql",
    ["-X", "-v", "ON_ERROR_STOP=1", "-f", "-", service.databaseUrl],
    {
      cwd: folder,
      env: { PATH: process.env["PATH"], PGOPTIONS: "-c search_path=psql_recipe" },
      input: recipe,
      encoding: "utf8",
    },
  );
  assert.deepEqual([stderr, status], ["", 0]);
  const loaded = await service.database.query(
    `select order_id, line_id, cohort_month::text, sold_units::text, sold_amount::text, is_used, counterpart_sku
       from psql_recipe.order_lines`,
  );
  const { rows } = await readTable("order_lines");
  assert.ok(rows.length > 0);
  assert.deepEqual(
    loaded.rows,
    rows.map((row) => Object.fromEntries(Object.keys(loaded.rows[0] ?? {}).map((name) => [name, row[name]]))),
  );
  return undefined;
});

test("R reads the CSV of order_lines as docs/guides/warehouse.md says", async (context) => {
  if (spawnSync("Rscript", ["--version"]).error !== undefined)
    return context.skip("Rscript is not installed");
  const [, recipe = ""] = /\*\*R\*\*[^`]*```r\n(.*?)```/su.exec(await readFile(GUIDE, "utf8")) ?? [];
  await writeFile(join(folder, "order_lines.csv"), await fetchFile("order_lines.csv"));
  const shown = `${recipe}\nwrite.csv(months, row.names = FALSE)\ncat(class(lines$order_id), sum(is.na(lines$sku)))`;
  const { stderr, status, stdout } = spawnSync("Rscript", ["--vanilla", "-e", shown], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.deepEqual([stderr, status], ["", 0]);
  const { rows } = await readTable("order_lines");
  const unitsByMonth = Map.groupBy(rows, (row) => String(row["cohort_month"]));
  const months = [...unitsByMonth].map(([month, lines]) => {
    const units = lines.reduce((sum, line) => sum + Number(line["sold_units"]), 0);
    return `"${month}",${units}`;
  });
  assert.ok(months.length > 1);
  const unnamed = rows.filter(({ sku }) => sku === null).length;
  assert.deepEqual(stdout.split("\n"), [
    '"cohort_month","sold_units"',
    ...months.toSorted(),
    `character ${unnamed}`,
  ]);
  return undefined;
});

const TEXT_BYTES = 2000;
const ALERTS = 20_000;

test("a third stream of a workspace is refused with 429 and not counted; another workspace has its own", async () => {
  const spent = await createTenant(service.database, { dailyQuota: 5 });
  const locking = await service.database.connect();
  try {
    for (const place of [1, 2])
      await locking.query("select pg_advisory_lock(hashtextextended('table stream ' || $1::text, $2))", [
        place,
        spent.shopKey,
      ]);
    for (let tries = 0; tries < 6; tries += 1) {
      const refused = await service.call("/api/v1/export/tables/{table}.{format}", { token: spent.token });
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "10"]);
      assert.match(refused.message(), /^Two tables of this workspace are being read already/u);
      assert.equal(refused.headers.get("x-ratelimit-remaining"), "5");
    }
    assert.ok((await fetchFile("alerts.csv")).length > 0);
  } finally {
    await locking.query("select pg_advisory_unlock_all()");
    locking.release();
  }
  for (let used = 1; used <= 6; used += 1) {
    const answer = await service.call("/api/v1/export/tables/{table}.{format}", { token: spent.token });
    assert.equal(answer.status, used <= 5 ? 200 : 429);
  }
});

test("names that are none of the tables lead nowhere, and are not counted", async () => {
  for (const name of [
    "../tables/../../alerts.csv",
    "..%2falerts.csv",
    "workspace.csv",
    "api_token.parquet",
    "cohorts.json",
    "cohorts",
    "cohorts.csv/x",
    "Cohorts.csv",
    "cohorts.csv%00.parquet",
    "{table}.{format}",
  ]) {
    const response = await fetch(`${service.address}/api/v1/export/tables/${name}`, {
      headers: { authorization: `Bearer ${tenant.token}` },
    });
    assert.equal(response.status, 404, name);
    assert.equal(response.headers.get("x-ratelimit-remaining"), null);
  }
});

test("HEAD answers the headers of a table and leaves no stream behind", async () => {
  for (let tries = 0; tries < 4; tries += 1) {
    const { status, headers } = await service.call("/api/v1/export/tables/{table}.{format}", {
      token: tenant.token,
      method: "HEAD",
    });
    assert.deepEqual([status, headers.get("content-type")], [200, "text/csv; charset=utf-8"]);
  }
});

/** Other processes have databases of their own on this server. */
const EXPORTING = `from pg_stat_activity
  where datname = current_database() and application_name = 'returns-exporting' and state <> 'idle'`;

test("a database that goes away, or a client that does, ends the answer before its end and frees its place", async () => {
  const large = await createTenant(service.database, {});
  await service.database.query(
    `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, created_at)
     select $1, 'a' || n, 'a' || n, 'report_ready', 'info', 'A report', repeat(md5(n::text), $2::integer / 32), '2026-01-05'
       from generate_series(1, $3::integer) n`,
    [large.shopKey, TEXT_BYTES, ALERTS],
  );
  const begin = async (format: string) => {
    const leaving = new AbortController();
    const response = await fetch(`${service.address}/api/v1/export/tables/alerts.${format}`, {
      headers: { authorization: `Bearer ${large.token}`, "accept-encoding": "identity" },
      signal: leaving.signal,
    });
    assert.equal(response.status, 200);
    return { response, leaving };
  };
  for (const format of ["csv", "parquet"]) {
    const { response } = await begin(format);
    await service.database.query(`select pg_terminate_backend(pid) ${EXPORTING}`);
    await assert.rejects(response.arrayBuffer(), format);
  }
  for (const format of ["csv", "csv", "csv", "parquet", "parquet"]) {
    const { leaving } = await begin(format);
    leaving.abort();
    await waitForFree();
  }
  const { response } = await begin("csv");
  assert.ok((await response.arrayBuffer()).byteLength > ALERTS * TEXT_BYTES);
  await writeFile(join(folder, "large.parquet"), await fetchFile("alerts.parquet", large.token));
  const groups = `select count(distinct row_group_id) > 1 as are_many from parquet_metadata('${join(folder, "large.parquet")}')`;
  assert.deepEqual((await duckdb.runAndReadAll(groups)).getRowObjectsJson(), [{ are_many: true }]);
  const sums = `select count(distinct alert_id)::integer as alerts, sum(length(body))::integer as bytes,
    count(*) filter (body = repeat(md5(substr(alert_id, 2)), ${Math.floor(TEXT_BYTES / 32)}))::integer as equal
    from '${join(folder, "large.parquet")}'`;
  assert.deepEqual((await duckdb.runAndReadAll(sums)).getRowObjectsJson(), [
    { alerts: ALERTS, bytes: ALERTS * 32 * Math.floor(TEXT_BYTES / 32), equal: ALERTS },
  ]);
});

test("an amount beyond 2^53 minor units is exact in both files", async () => {
  const huge = await createTenant(service.database, {});
  await service.database.query(
    `insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, sold_minor, used)
     values ($1, 'o', 'l', '2026-01-05', '2026-01-01', 1, 9007199254740993, false)`,
    [huge.shopKey],
  );
  const csv = Buffer.from(await fetchFile("order_lines.csv", huge.token)).toString();
  assert.match(csv, /,90071992547409\.93,/u);
  await writeFile(join(folder, "huge.parquet"), await fetchFile("order_lines.parquet", huge.token));
  const amount = `select sold_amount::varchar as amount from '${join(folder, "huge.parquet")}'`;
  assert.deepEqual((await duckdb.runAndReadAll(amount)).getRowObjectsJson(), [
    { amount: "90071992547409.93" },
  ]);
});

async function waitForFree(): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { rows } = await service.database.query<{ busy: number }>(
      `select count(*)::integer as busy ${EXPORTING}`,
    );
    if (rows[0]?.busy === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail("a stream is still open");
}

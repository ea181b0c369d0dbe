import { spawn } from "node:child_process";
import { existsSync, createReadStream, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createGunzip, gzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { parse } from "csv-parse";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { createToken } from "../../src/actions/tokens/actions.ts";
import { startService } from "../../src/app.ts";
import { createServiceLogger } from "../../src/cli/service-logger.ts";
import { readConfig } from "../../src/config.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import { writeDemoStore } from "../../src/demo/demo-store.ts";
import type { BenchContext } from "./context.ts";
import { shownMegabytes, shownNumber, shownTiming, spreadOf, timed } from "./measure.ts";
import type { BenchRow } from "./measure.ts";
import { usageOf } from "./servers.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";

const PROJECT = resolve(import.meta.dirname, "../..");
const REAL_YEAR = resolve(PROJECT, "../shared/data/online-retail");
const ROUNDS = 3;
const CHANGED_LINES = 500;
/** About half a million lines and 4,000 SKUs. */
const GENERATED = { today: "2026-07-01", months: 36, orders: 312_000, breadth: 8 };

type Source = { name: string; folder: string; asOf: string; lines: number; month: string; target: string };

/**
 * Imports a generated store, and a real year if there is one beside the project, into new workspaces with the command,
 * in a separate process, and measures until the running service answers.
 */
export async function measureImport(context: BenchContext): Promise<BenchRow[]> {
  const config = readConfig(context.environment);
  const service = await startService(config, context.installation, createServiceLogger("warn"));
  try {
    const rows: BenchRow[] = [];
    for (const source of await sourcesOf(context)) {
      rows.push(...(await measureSource(context, service.address, source)));
    }
    return rows;
  } finally {
    await service.stop();
  }
}

async function sourcesOf(context: BenchContext): Promise<Source[]> {
  const folder = join(context.folder, "generated");
  const { orderLines } = await writeDemoStore({ folder, ...GENERATED });
  const generated = {
    name: "three generated years",
    folder,
    asOf: `${GENERATED.today}T00:00:00Z`,
    lines: orderLines,
    month: "2024-06",
    target: "",
  };
  if (!existsSync(join(REAL_YEAR, "order_lines.csv.gz"))) return [generated];
  const asOf = "2011-12-10T00:00:00Z";
  const realYear = { name: "a real year", folder: REAL_YEAR, asOf, lines: 527_725 };
  return [generated, { ...realYear, month: "2011-06", target: "≤ 20 s" }];
}

async function measureSource(context: BenchContext, address: string, source: Source): Promise<BenchRow[]> {
  const name = source.name.replaceAll(" ", "-");
  const importsMs: number[] = [];
  const parquetMs: number[] = [];
  const parquet = await writeParquet(source.folder, join(context.folder, `${name}-parquet`));
  let peakMb = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    context.tell(`Importing ${source.name}, round ${round + 1} of ${ROUNDS}.`);
    const whole = await runImport(context, address, source, `${name}-${round}.example`);
    importsMs.push(whole.tookMs);
    peakMb = Math.max(peakMb, whole.peakMb);
    // In turns, so that both have the same load of the machine.
    const same = { ...source, folder: parquet };
    parquetMs.push((await runImport(context, address, same, `${name}-parquet-${round}.example`)).tookMs);
  }
  const part = join(context.folder, `${name}-part`);
  await writePartOfMonth(source.folder, part, { month: source.month, lines: CHANGED_LINES });
  const changed = await runImport(context, address, { ...source, folder: part }, `${name}-0.example`);

  return [
    {
      name: `import of ${source.name}, ${source.lines.toLocaleString("en")} lines, to served answers`,
      value: `${shownTiming(importsMs)}, ${shownNumber((source.lines / spreadOf(importsMs).median) * 1000)} lines/s`,
      target: source.target,
    },
    { name: "its peak memory", value: shownMegabytes(peakMb), target: "≤ 400 MB" },
    {
      name: "the same files as Parquet, beside CSV",
      value: `${shownTiming(parquetMs)}, ${shownNumber(spreadOf(parquetMs).median / spreadOf(importsMs).median)} of it`,
      target: "≤ 1",
    },
    {
      name: `a folder touching ${CHANGED_LINES} lines of one month of it`,
      value: `${shownNumber(changed.tookMs / 1000)} s`,
      target: "≤ 3 s",
    },
  ];
}

/** The files of a folder as Parquet, with the types that DuckDB finds in them; returns the folder. */
async function writeParquet(folder: string, target: string): Promise<string> {
  mkdirSync(target);
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  for (const file of readdirSync(folder).filter((name) => /\.csv(?:\.gz)?$/u.test(name))) {
    const parquet = join(target, file.replace(/\.csv.*/u, ".parquet"));
    const rows = `read_csv('${join(folder, file)}', sample_size = -1)`;
    await connection.run(
      `copy (select * from ${rows}) to '${parquet}' (format parquet, compression zstd, row_group_size 100000)`,
    );
  }
  connection.closeSync();
  instance.closeSync();
  return target;
}

/** Runs the command for a workspace, which is created if missing, and waits until the service answers. */
async function runImport(
  context: BenchContext,
  address: string,
  source: Source,
  domain: string,
): Promise<{ tookMs: number; peakMb: number }> {
  const token = await tokenOf(context, domain);
  let peakMb = Number.NaN;
  const tookMs = await timed(async () => {
    const main = join(PROJECT, "src/cli/main.ts");
    const child = spawn(
      process.execPath,
      [main, "import", source.folder, "--workspace", domain, "--as-of", source.asOf, "--json"],
      { env: { ...process.env, ...context.environment }, stdio: ["ignore", "ignore", "inherit"] },
    );
    const watch = setInterval(() => {
      const { peakMb: highest } = usageOf(child.pid ?? 0);
      if (!Number.isNaN(highest)) peakMb = highest;
    }, 50);
    const code = await new Promise((done) => {
      child.on("exit", done);
    });
    clearInterval(watch);
    if (code !== 0) throw new Error(`the import ended with code ${String(code)}`);
    const query = `start_month=${source.month}&end_month=${source.month}&window=lifetime`;
    const response = await fetch(`${address}/api/v1/summary?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const body = (await response.json()) as { data?: { sold_units: number } };
    if (!body.data?.sold_units) throw new Error(`the service answered ${response.status} without the data`);
  });
  return { tookMs, peakMb };
}

async function tokenOf(context: BenchContext, domain: string): Promise<string> {
  const { keys } = context;
  const { database } = context.installation;
  const existing = await requireWorkspace(database, domain).catch(() => null);
  const workspace =
    existing ?? (await makeWorkspace(database, domain, { currency: "GBP", plan: "enterprise" }));
  const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
  const { secret } = await runAction(
    createToken,
    caller,
    textInput({ name: "bench", scopes: "read:dashboard" }),
  );
  return secret?.reveal() ?? "";
}

/** Writes a folder that removes one unit from some lines of one month (YYYY-MM). */
async function writePartOfMonth(
  folder: string,
  target: string,
  part: { month: string; lines: number },
): Promise<void> {
  mkdirSync(target);
  const columns = ["order_id", "line_id", "ordered_at", "product_id", "variant_id", "sku", "units"];
  const rows = [[...columns, "removed_units"].join(",")];
  const lines =
    ["order_lines.csv.gz", "order_lines.csv"].map((name) => join(folder, name)).find(existsSync) ?? "";
  const bytes = createReadStream(lines);
  const text = lines.endsWith(".gz") ? bytes.pipe(createGunzip()) : bytes;
  for await (const record of text.pipe(parse({ bom: true, columns: true }))) {
    const line = record as Record<string, string>;
    if (!line["ordered_at"]?.startsWith(part.month)) continue;
    rows.push([...columns.map((column) => line[column]), "1"].join(","));
    if (rows.length > part.lines) break;
  }
  writeFileSync(join(target, "order_lines.csv.gz"), gzipSync(`${rows.join("\n")}\n`));
}

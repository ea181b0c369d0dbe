import { spawn } from "node:child_process";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, gzipSync } from "node:zlib";
import { parse } from "csv-parse";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { migrateInstallation, openInstallation, startService } from "../src/app.ts";
import type { Installation } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { createServiceLogger } from "../src/cli/service-logger.ts";
import { issueToken } from "../src/control/token.ts";
import { createWorkspace, requireWorkspace } from "../src/control/workspace.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import type { BenchRow } from "./table.ts";
import { measureToolCall } from "./tool-call.ts";

const PROJECT = resolve(import.meta.dirname, "..");
const REAL_YEAR = resolve(PROJECT, "../shared/data/online-retail");
const DOMAIN = "bench.example";
const CHANGED_LINES = 500;

export type Bench = {
  installation: Installation;
  environment: Record<string, string>;
  address: string;
  token: string;
};

/**
 * Imports a year of a store (a real one where it lies beside the project, else the demo store) with the command, in a
 * process of its own, and asks the running service until it answers with the new data.
 */
export async function measureImport(tell: (line: string) => void): Promise<BenchRow[]> {
  const scratch = mkdtempSync(join(tmpdir(), "returns-bench-"));
  try {
    const store = await chooseStore(scratch);
    tell(`Importing ${store.name}: ${store.lines.toLocaleString("en")} order lines.`);
    return await withService(scratch, async (bench) => {
      const floorSeconds = await copySeconds(bench.installation.databaseUrl, store.folder);
      const whole = await runImport(bench, store.folder, store.asOf);
      const partFolder = await writeOneMonth(store.folder, scratch, store.month);
      const part = await runImport(bench, partFolder, store.asOf);
      tell("Comparing tools/call with REST.");
      const toolCall = await measureToolCall(serverEnvironment(bench), bench.token);
      return [
        ...toolCall,
        {
          name: `import of ${store.name}, to served answers`,
          value: `${whole.seconds.toFixed(1)} s`,
          floor: `${floorSeconds.toFixed(1)} s raw COPY of the lines`,
          ratio: (floorSeconds / whole.seconds).toFixed(2),
          target: "≤ 60 s for 527,725 lines",
        },
        { name: "its peak memory", value: `${whole.peakMb} MB`, floor: "", ratio: "", target: "≤ 400 MB" },
        {
          name: `a folder touching ${CHANGED_LINES} lines of one month`,
          value: `${part.seconds.toFixed(1)} s`,
          floor: "",
          ratio: "",
          target: "≤ 3 s",
        },
      ];
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** For a second server process on the same database and keys. */
function serverEnvironment(bench: Bench): Record<string, string> {
  return { ...bench.environment, DATABASE_URL: bench.installation.databaseUrl };
}

type Store = { name: string; folder: string; asOf: string; lines: number; month: string };

async function chooseStore(scratch: string): Promise<Store> {
  if (existsSync(join(REAL_YEAR, "order_lines.csv.gz"))) {
    const asOf = "2011-12-10T00:00:00Z";
    return { name: "a real year", folder: REAL_YEAR, asOf, lines: 527_725, month: "2011-06" };
  }
  const folder = join(scratch, "demo");
  const store = await writeDemoStore({ folder, today: "2026-01-01" });
  return {
    name: "the demo store",
    folder,
    asOf: "2026-01-01T00:00:00Z",
    lines: store.orderLines,
    month: "2025-06",
  };
}

/** A service of its own on an embedded database of its own, both gone afterwards. */
async function withService<Result>(
  scratch: string,
  work: (bench: Bench) => Promise<Result>,
): Promise<Result> {
  const dataFolder =
    process.getuid?.() === 0 ? `/var/lib/returns-analytics/bench-${process.pid}` : join(scratch, "data");
  const environment = { RETURNS_DATA_DIR: dataFolder, PORT: "0", LOG_LEVEL: "warn" };
  const config = readConfig(environment);
  const installation = await openInstallation(config, () => {});
  try {
    await migrateInstallation(installation, () => {});
    await createWorkspace(installation.database, { domain: DOMAIN, currency: "GBP", plan: "enterprise" });
    const workspace = await requireWorkspace(installation.database, DOMAIN);
    const scopes = "read:dashboard,read:reports";
    const { token } = await issueToken(installation.database, workspace, installation.keys.tokenPepper, {
      name: "bench",
      scopes,
      now: new Date(),
    });
    const service = await startService(config, installation, createServiceLogger("warn"));
    try {
      return await work({ installation, environment, address: service.address, token });
    } finally {
      await service.stop();
    }
  } finally {
    await installation.close();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

/** Runs the command and waits until the service answers; seconds of both, peak memory of the command. */
async function runImport(
  bench: Bench,
  folder: string,
  asOf: string,
): Promise<{ seconds: number; peakMb: number }> {
  const started = performance.now();
  const main = join(PROJECT, "src/cli/main.ts");
  const child = spawn(
    process.execPath,
    [main, "import", folder, "--workspace", DOMAIN, "--as-of", asOf, "--json"],
    {
      env: { ...process.env, ...bench.environment },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, peakMemoryMb(child.pid));
  }, 50);
  const code = await new Promise((done) => {
    child.on("exit", done);
  });
  clearInterval(watch);
  if (code !== 0) throw new Error(`the import ended with code ${String(code)}`);
  const response = await fetch(
    `${bench.address}/api/v1/summary?start_month=2010-12&end_month=2011-12&window=lifetime`,
    {
      headers: { authorization: `Bearer ${bench.token}` },
    },
  );
  if (response.status !== 200) throw new Error(`the service answered ${response.status}`);
  await response.arrayBuffer();
  return { seconds: (performance.now() - started) / 1000, peakMb };
}

/** The kernel's high-water mark of a process's resident memory; 0 where /proc is not there. */
function peakMemoryMb(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Math.round(Number(/VmHWM:\s+(\d+)/u.exec(status)?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}

/** The floor: the same lines' bytes through COPY into one table of text. */
async function copySeconds(url: string, folder: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const file = ["order_lines.csv.gz", "order_lines.csv"]
    .map((name) => join(folder, name))
    .find(existsSync) as string;
  const header = await headerOf(file);
  await client.query(`create temp table raw_line (${header.map((name) => `${name} text`).join(", ")})`);
  const started = performance.now();
  const copy = client.query(copyFrom("copy raw_line from stdin with (format csv, header)"));
  if (file.endsWith(".gz")) await pipeline(createReadStream(file), createGunzip(), copy);
  else await pipeline(createReadStream(file), copy);
  const seconds = (performance.now() - started) / 1000;
  await client.end();
  return seconds;
}

async function headerOf(file: string): Promise<string[]> {
  for await (const record of records(file, {})) return record as string[];
  return [];
}

function records(file: string, options: { columns?: boolean }): AsyncIterable<unknown> {
  const bytes = createReadStream(file);
  const text = file.endsWith(".gz") ? bytes.pipe(createGunzip()) : bytes;
  return text.pipe(parse({ bom: true, ...options }));
}

/** A folder that gives some lines of one month one unit less. */
async function writeOneMonth(folder: string, scratch: string, month: string): Promise<string> {
  const target = join(scratch, "month");
  mkdirSync(target);
  const file = ["order_lines.csv.gz", "order_lines.csv"]
    .map((name) => join(folder, name))
    .find(existsSync) as string;
  const rows = ["order_id,line_id,ordered_at,product_id,variant_id,sku,units,removed_units"];
  for await (const record of records(file, { columns: true })) {
    const line = record as Record<string, string>;
    if (!line["ordered_at"]?.startsWith(month)) continue;
    rows.push(
      [
        line["order_id"],
        line["line_id"],
        line["ordered_at"],
        line["product_id"],
        line["variant_id"],
        line["sku"],
        line["units"],
        "1",
      ].join(","),
    );
    if (rows.length > CHANGED_LINES) break;
  }
  writeFileSync(join(target, "order_lines.csv.gz"), gzipSync(`${rows.join("\n")}\n`));
  return target;
}

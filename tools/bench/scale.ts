import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { copyMigrations } from "../../tests/support/migration-folder.ts";
import { createToken } from "../../src/access/token.ts";
import { createMetrics } from "../../src/operations/metrics.ts";
import { knownMigrations, migrate } from "../../src/store/migrate.ts";
import { putConnection } from "../../src/store/queries/data-source.ts";
import { askForRun } from "../../src/store/queries/sync-request.ts";
import { createShopifyConnector } from "../../src/sync/connectors/shopify/connector.ts";
import { startDueRun } from "../../src/sync/run-record.ts";
import { executeRun } from "../../src/sync/runs.ts";
import { keepInstallation, checkWorkspace } from "../../src/worker/upkeep.ts";
import { readConfig } from "../../src/config.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import { QUIET, sqlOf } from "./context.ts";
import type { BenchContext, Sql } from "./context.ts";
import { shownNumber, shownTiming, timed } from "./measure.ts";
import type { BenchRow } from "./measure.ts";
import { cpuSecondsOf, startService, tryLoad } from "./servers.ts";

const LAUNCHER = join(import.meta.dirname, "../../scripts/launch.js");
/** Rows of a shop's run history: a day of syncs every 15 minutes. */
const RUNS_PER_SHOP = 96;
const SHOPS_PER_STATEMENT = 1000;
const MIGRATION_SECONDS = 20;
const REQUESTS_PER_SECOND = 20;
const TIMES = 3;
const SYNCS = 40;

type Scale = BenchContext & { sql: Sql };

/** What depends on the number of workspaces, at each of these sizes of one database. */
export async function measureScale(context: BenchContext, sizes: readonly number[]): Promise<BenchRow[]> {
  const scale: Scale = { ...context, sql: sqlOf(context.installation.database) };
  const rows: BenchRow[] = [];
  for (const size of sizes) {
    await fill(scale, size);
    const name = `${size.toLocaleString("en")} workspaces`;
    const measures = { metrics, commands, tasks, sync, history, migration };
    for (const [what, measure] of Object.entries(measures)) {
      scale.tell(`${name}: ${what}`);
      for (const row of await measure(scale)) {
        scale.tell(`  ${row.name}: ${row.value}`);
        rows.push({ ...row, name: `${name}: ${row.name}` });
      }
    }
  }
  return rows;
}

/** Fills the database up to this number of synced workspaces, all of the same small size. */
async function fill({ sql, tell, keys }: Scale, size: number): Promise<void> {
  const [there] = await sql<{ shops: number }>("select count(*)::integer as shops from shop_directory");
  for (let from = there?.shops ?? 0; from < size; from += SHOPS_PER_STATEMENT) {
    const to = Math.min(size, from + SHOPS_PER_STATEMENT);
    const keysMade = await sql<{ shop_key: number }>(
      `insert into shop_directory (shop_domain)
       select 'shop-' || lpad(n::text, 6, '0') || '.example' from generate_series($1::integer, $2) n returning shop_key`,
      [from + 1, to],
    );
    const shopKeys = keysMade.map((row) => row.shop_key);
    for (const statement of SHOP_ROWS) await sql(statement, [shopKeys]);
    const tokens = shopKeys.map((shopKey) => createToken(shopKey, keys.tokenPepper));
    await sql(
      `insert into api_token (shop_key, token_id, name, secret_hash, scopes, created_by)
       select s, i, 'bench', h, '{read:dashboard}', 'bench' from unnest($1::bigint[], $2::text[], $3::bytea[]) t (s, i, h)`,
      [shopKeys, tokens.map(({ tokenId }) => tokenId), tokens.map(({ secretHash }) => secretHash)],
    );
    sampleTokens.push(...tokens.slice(0, 20).map(({ token }) => token));
    if (to % 10_000 === 0) tell(`${to} workspaces`);
  }
  await sql("analyze");
}

const sampleTokens: string[] = [];
const OF_SHOPS = "from unnest($1::bigint[]) s (shop_key)";

/** The rows of a workspace: synced a quarter of an hour ago, every hundredth with a problem. */
const SHOP_ROWS = [
  `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key, readiness, data_version, data_as_of)
   select s.shop_key, 'org_' || s.shop_key, 'shop_' || s.shop_key, d.shop_domain, 'EUR', 'scale',
          case when s.shop_key % 100 = 0 then 'reconnecting' else 'ready' end, 1, now()
     ${OF_SHOPS} join shop_directory d using (shop_key)`,
  `insert into data_source (shop_key, source, kind, is_connection, status, settings, sealed_credentials, last_synced_at)
   select s.shop_key, source, kind, true, case when s.shop_key % 100 = 0 then 'failed' else 'ok' end,
          jsonb_build_object('shop', 'shop-' || s.shop_key || '.myshopify.com'), '\\x00', now() - interval '15 minutes'
     ${OF_SHOPS} cross join (values ('shopify', 'store'), ('loop', 'label_cost')) k (source, kind)`,
  `insert into shop_account (shop_key, source, account)
   select s.shop_key, 'shopify', 'shop-' || s.shop_key || '.myshopify.com' ${OF_SHOPS}`,
  `insert into run_queue (shop_key, source, kind, due_at)
   select s.shop_key, source, kind, 'infinity' ${OF_SHOPS} cross join (values ('shopify', 'store'), ('loop', 'label_cost')) k (source, kind)`,
  `insert into sync_run (shop_key, run_id, source, kind, requested_by, status, started_at, finished_at, stage, counts, error)
   select s.shop_key, gen_random_uuid(), 'shopify', 'incremental', 'schedule', e.status, t.at, t.at + interval '1 second', 'changed orders',
          '{"orders": 0, "order_lines": 0, "returns": 0, "refunds": 0, "products": 0, "variants": 0, "changed_orders": 0}',
          case when e.status = 'failed' then 'Shopify did not answer.' end
     ${OF_SHOPS} cross join generate_series(1, ${RUNS_PER_SHOP}) n
    cross join lateral (select now() - n * interval '15 minutes') t (at)
    cross join lateral (select case when (s.shop_key + n) % 100 = 0 then 'failed' else 'succeeded' end as status) e`,
  `insert into audit_event (shop_key, happened_at, actor, action, detail)
   select s.shop_key, now() - n * interval '1 day', 'operator', 'workspace.set', '{}' ${OF_SHOPS} cross join generate_series(1, 10) n`,
  `insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, sku, used)
   select s.shop_key, n::text, n::text, current_date - n, date_trunc('month', (current_date - n)::timestamp)::date, 1, 'SKU-' || n % 3, false
     ${OF_SHOPS} cross join generate_series(1, 10) n`,
  `insert into daily_usage (shop_key, day, requests) select s.shop_key, (now() at time zone 'UTC')::date, 5 ${OF_SHOPS}`,
];

async function repeated(work: () => Promise<unknown>): Promise<string> {
  const tookMs: number[] = [];
  for (let time = 0; time < TIMES; time += 1) tookMs.push(await timed(work));
  return shownTiming(tookMs);
}

async function metrics({ installation }: Scale): Promise<BenchRow[]> {
  const shown = createMetrics(installation.database);
  let body = "";
  const value = await repeated(async () => ({ body } = await shown.render()));
  const missing = [...body.matchAll(/^returns_metrics_unavailable\{group="(\w+)"\} 1/gmu)].map(
    ([, name]) => name,
  );
  const remark = missing.length === 0 ? "complete" : `without ${missing.join(", ")}`;
  return [{ name: `/metrics, ${remark}`, value, target: "≤ 0.5 s, complete" }];
}

/** Commands, with the start of the process, which \`--help\` shows. */
async function commands(scale: Scale): Promise<BenchRow[]> {
  const targets = {
    doctor: "≤ 5 s, one screen",
    "workspace list": "≤ 1 s",
    runs: "≤ 1 s",
    audit: "≤ 1 s",
    "--help": "",
  };
  const rows: BenchRow[] = [];
  for (const [words, target] of Object.entries(targets)) {
    let printed = "";
    const value = await repeated(async () => (printed = await runCommand(scale, words.split(" "))));
    rows.push({ name: words, value, floor: `${printed.split("\n").length - 1} lines`, target });
  }
  return rows;
}

async function runCommand({ environment }: BenchContext, words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [LAUNCHER, "src/cli/main.ts", ...words], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [printed] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return printed;
}

async function tasks({ installation, sql }: Scale): Promise<BenchRow[]> {
  const environment = {
    database: installation.database,
    now: () => new Date(),
    log: QUIET,
    retention: readConfig({}),
  };
  const shops = await sql<{ shop_key: number }>("select shop_key from workspace order by random() limit 100");
  const looks: number[] = [];
  for (const { shop_key: shopKey } of shops)
    looks.push(await timed(() => checkWorkspace(environment, shopKey)));
  return [
    {
      name: "the one task of the schedule",
      value: shownTiming([await timed(() => keepInstallation(environment))]),
    },
    { name: "alerts and upkeep of one shop", value: shownTiming(looks) },
  ];
}

/** Processor time of a sync that finds nothing: that of this process, and of the database's processes. */
async function sync(scale: Scale): Promise<BenchRow[]> {
  const { installation, sql } = scale;
  const { database } = installation;
  const domain = `idle-${Date.now()}.myshopify.com`;
  const simulator = await startShopifySimulator({ orders: 20, domain, currencyCode: "EUR", bulkMillis: 5 });
  try {
    const { shop_key: shopKey } = await makeWorkspace(database, domain, { currency: "EUR" });
    const settings = { url: simulator.url };
    await putConnection(database, {
      shopKey,
      source: "shopify",
      kind: "store",
      settings,
      sealedCredentials: Buffer.alloc(1),
    });
    const secrets = { accessToken: simulator.token };
    const credentials = { read: async () => secrets, change: async () => secrets };
    const connectors = [
      createShopifyConnector({ clientId: null, clientSecret: null, retryPolicy: { pollMs: 10 } }),
    ];
    const environment = {
      database,
      connectors,
      openCredentials: () => credentials,
      now: () => new Date(),
      log: QUIET,
      firstRetryMs: 100,
    };
    const run = async (kind: "backfill" | "incremental"): Promise<void> => {
      // A watermark in the future, so that the overlap lists nothing again.
      await sql(
        `update data_source set cursor = jsonb_set(cursor, '{watermark}', to_jsonb((now() + interval '1 day')::text)) where shop_key = $1`,
        [shopKey],
      );
      await askForRun(database, { shopKey, source: "shopify", kind, requestedBy: "schedule" });
      const started = await startDueRun(database, { shopKey, source: "shopify" });
      if (started === null) throw new Error("no run is due");
      await executeRun(environment, started, new AbortController().signal, () => {});
    };
    await run("backfill");
    for (let warm = 0; warm < 10; warm += 1) await run("incremental");
    const before = await used(scale);
    for (let count = 0; count < SYNCS; count += 1) {
      await run("incremental");
    }
    const after = await used(scale);
    // The time of connections that were closed in the meantime is unknown.
    const spent = [...after.database].map(([pid, seconds]) => seconds - (before.database.get(pid) ?? 0));
    const workerMs = ((after.worker - before.worker) / SYNCS) * 1000;
    const databaseMs = (spent.reduce((sum, seconds) => sum + seconds, 0) / SYNCS) * 1000;
    const value = `${shownNumber(workerMs + databaseMs)} ms`;
    const dead = (after.dead - before.dead) / SYNCS;
    return [
      {
        name: "a sync that finds nothing",
        value,
        floor: `worker ${shownNumber(workerMs)} ms, PostgreSQL ${shownNumber(databaseMs)} ms`,
        target: "≤ 12 ms",
      },
      { name: "dead catalogue rows of it", value: shownNumber(dead), target: "0" },
    ];
  } finally {
    await simulator.stop();
  }
}

/** Processor seconds of this process, and of each of the database's by its id. */
async function used({
  sql,
}: Scale): Promise<{ worker: number; database: Map<number, number>; dead: number }> {
  const { user, system } = process.cpuUsage();
  const backends = await sql<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'returns-control'",
  );
  const [catalogue] = await sql<{ dead: number }>(
    "select pg_stat_force_next_flush(), (select sum(n_tup_upd + n_tup_del)::float8 from pg_stat_sys_tables where schemaname = 'pg_catalog') as dead",
  );
  const database = new Map(backends.map(({ pid }) => [pid, cpuSecondsOf(pid)]));
  return { worker: (user + system) / 1e6, database, dead: catalogue?.dead ?? Number.NaN };
}

/** The size of a row of the run history. */
async function history({ sql }: Scale): Promise<BenchRow[]> {
  const [size] = await sql<{ bytes: number; runs: number }>(
    "select pg_total_relation_size('sync_run')::float8 as bytes, (select count(*)::float8 from sync_run) as runs",
  );
  if (size === undefined) return [];
  const bytes = size.bytes / size.runs;
  return [{ name: "a row of the run history", value: `${shownNumber(bytes)} B` }];
}

let migrations = 0;
/** Writes one table after the other in a transaction, as runs do. */
const WRITE = `with source as (update data_source set status = status
                where shop_key in (select shop_key from workspace order by shop_key limit 20) returning shop_key)
  update workspace w set readiness = readiness from source s where w.shop_key = s.shop_key`;

/** A migration of tables while requests and a writer use them. */
async function migration(scale: Scale): Promise<BenchRow[]> {
  const { installation, environment, sql } = scale;
  const latest = (await knownMigrations()).at(-1) ?? "";
  migrations += 1;
  const names = [...Array(migrations).keys()].map((number) => `900${number}_bench`);
  const changes = (name: string): string =>
    `-- Works with ${latest}.\n${["workspace", "data_source", "api_token", "sync_run", "alert"]
      .map((table) => `alter table ${table} add column "${name}" text;`)
      .join("\n")}`;
  const added = Object.fromEntries(names.map((name) => [name, changes(name)]));
  const folder = copyMigrations(added);
  const service = await startService(environment);
  const state = { isOver: false };
  const writes = { done: 0, failed: 0 };
  const writing = (async (): Promise<void> => {
    while (!state.isOver) {
      const isDone = await sql(WRITE).then(
        () => true,
        () => false,
      );
      writes[isDone ? "done" : "failed"] += 1;
    }
  })();
  try {
    const path = "/api/v1/summary?start_month=2026-01&end_month=2026-05";
    const load = tryLoad({
      address: service.address,
      requests: sampleTokens.map((token) => ({ path, token })),
      connections: 4,
      seconds: MIGRATION_SECONDS,
      ratePerSecond: REQUESTS_PER_SECOND,
    });
    const problems: string[] = [];
    const tookMs = await timed(() =>
      migrate({ url: installation.databaseUrl, folder }).catch((error: Error) =>
        problems.push(error.message),
      ),
    );
    const outcome = await load;
    const ended = problems[0] ?? shownTiming([tookMs]);
    return [
      { name: `migrate under ${REQUESTS_PER_SECOND} requests a second and a writer`, value: ended },
      {
        name: "requests and writes that failed meanwhile",
        value: `${outcome.failures} of ${outcome.requests}, ${writes.failed} of ${writes.done}`,
        target: "0",
      },
    ];
  } finally {
    state.isOver = true;
    await writing;
    await service.stop();
  }
}

import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { createHttpMetrics, DURATION_BUCKETS_SECONDS, type HttpMetrics } from "../http/metrics.ts";
import { VERSION } from "../lib/version.ts";
import { within } from "../lib/within.ts";
import type { DatabasePool, Queryable } from "../store/database.ts";
import { knownMigrations } from "../store/migrate.ts";
import { deliveryMetrics } from "../store/queries/alert-delivery.ts";
import { appliedMigrations } from "../store/queries/installation.ts";
import {
  answers,
  CONNECTION_STATUSES,
  findBackupAge,
  listDueRuns,
  listTaskDelays,
  overdueSeconds,
  syncAgeSeconds,
  runMetrics,
  syncMetrics,
} from "../store/queries/on-call.ts";
import { countWorkers } from "../store/queries/worker-health.ts";
import { seesWorkers } from "../store/worker-session.ts";

/** The metrics of one process: its requests, its pools, and those read from the database at each scrape. */
export type Metrics = HttpMetrics & {
  /** A request has its admission, or was refused one, after so long. */
  observeAdmission: (waitSeconds: number) => void;
  /** A request was refused because its workspace's daily quota is used up. */
  countQuotaRefusal: () => void;
  /** A delivery of the store platform was refused. */
  countRefusedWebhook: (status: number) => void;
  /** Shows a pool under this name from now on. */
  watchPool(pool: string, database: DatabasePool): void;
};

/**
 * `database` is asked at each scrape; what it does not answer in time is left out. `apis`: until when the sources support the
 * versions that are asked for.
 */
export function createMetrics(
  database: Queryable,
  apis: readonly { source: string; endsAt: Date }[] = [],
  now: () => number = Date.now,
): Metrics {
  const http = createHttpMetrics();
  const { registry } = http;
  const registers = [registry];
  const pools = new Map<string, DatabasePool>();
  const admissionWait = new Histogram({
    name: "returns_admission_wait_seconds",
    help: "How long requests waited for admission, including the database's time.",
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const quotaRefusals = new Counter({
    name: "returns_quota_refusals_total",
    help: "Requests refused because the daily quota of their workspace was used up.",
    registers,
  });
  const refusedWebhooks = new Counter({
    name: "returns_webhooks_refused_total",
    help: "Webhook deliveries that were refused, by the status they were answered with.",
    labelNames: ["status"],
    registers,
  });
  // A series that begins with 1 has no rate.
  for (const status of [400, 401, 404, 503]) refusedWebhooks.inc({ status }, 0);
  const gauge = gaugesOf(registry);
  gauge("returns_info", "The version of this process.", ["version"]).labels(VERSION).set(1);
  const apiLeft = gauge(
    "returns_source_api_left_seconds",
    "For how long a source still supports the version of its API that this process asks for; below 0 when it has ended.",
    ["source"],
  );
  const showPools = createPoolMetrics(pools, gauge, registry);
  const showDatabase = createDatabaseMetrics(database, gauge);
  return {
    ...http,
    observeAdmission: (waitSeconds) => admissionWait.observe(waitSeconds),
    countQuotaRefusal: () => quotaRefusals.inc(),
    countRefusedWebhook: (status) => refusedWebhooks.inc({ status }),
    watchPool: (pool, watched) => void pools.set(pool, watched),
    render: async () => {
      showPools();
      for (const { source, endsAt } of apis) apiLeft.set({ source }, (endsAt.getTime() - now()) / 1000);
      await showDatabase();
      return http.render();
    },
  };
}

/** A gauge that shows nothing while its value is not known; prom-client shows 0 where it has no labels. */
class ReadGauge extends Gauge {
  readonly #hasLabels: boolean;

  constructor(name: string, help: string, labelNames: readonly string[], registry: Registry) {
    super({ name, help, labelNames: [...labelNames], registers: [registry] });
    this.#hasLabels = labelNames.length > 0;
  }

  /** Shows nothing until it is set again. */
  clear(): void {
    this.reset();
    if (!this.#hasLabels) this.remove();
  }
}

type MakeGauge = (name: string, help: string, labelNames?: readonly string[]) => ReadGauge;

/** Creates gauges of one registry. */
function gaugesOf(registry: Registry): MakeGauge {
  return (name, help, labelNames = []) => new ReadGauge(name, help, labelNames, registry);
}

/** Measures these pools; the function that it returns shows them as they are now. */
function createPoolMetrics(
  pools: ReadonlyMap<string, DatabasePool>,
  gauge: MakeGauge,
  registry: Registry,
): () => void {
  const connections = gauge(
    "returns_database_pool_connections",
    "Open connections of a pool, by whether they are in use.",
    ["pool", "state"],
  );
  const limit = gauge("returns_database_pool_limit", "Connections that a pool may open.", ["pool"]);
  const waiting = gauge("returns_database_pool_waiting", "Statements waiting for a connection of a pool.", [
    "pool",
  ]);
  const waits = new Counter({
    name: "returns_database_pool_waits_total",
    help: "Statements and transactions that had to wait for a connection of a pool.",
    labelNames: ["pool"],
    registers: [registry],
  });
  return () => {
    waits.reset();
    for (const [pool, database] of pools) {
      const usage = database.usage();
      connections.set({ pool, state: "idle" }, usage.idle);
      connections.set({ pool, state: "used" }, usage.open - usage.idle);
      limit.set({ pool }, usage.most);
      waiting.set({ pool }, usage.waiting);
      waits.inc({ pool }, usage.waits);
    }
  };
}

/** Prometheus waits for 10 s by default: for the first answer and then for all groups together. */
const LONGEST_READ_MS = 3000;

/** Metrics that are read together, and that are left out together when they cannot be read. */
type MetricsGroup = {
  name: string;
  gauges: readonly ReadGauge[];
  /** Reads, and returns what shows it. */
  read: (database: Queryable) => Promise<() => void>;
};

function group<Found>(
  name: string,
  gauges: readonly ReadGauge[],
  read: (database: Queryable) => Promise<Found>,
  show: (found: Found) => void,
): MetricsGroup {
  return {
    name,
    gauges,
    read: async (database) => {
      const found = await read(database);
      return () => show(found);
    },
  };
}

/**
 * The metrics that each scrape reads from the database. A group that cannot be read, such as one that queries all nodes of a
 * Citus while one is lost, is omitted and named by returns_metrics_unavailable; the others are shown. Concurrent scrapes share
 * one read.
 */
function createDatabaseMetrics(database: Queryable, gauge: MakeGauge): () => Promise<void> {
  const up = gauge("returns_database_up", "1 when the database answers, else 0.");
  const unavailable = gauge(
    "returns_metrics_unavailable",
    "1 when a group of metrics could not be read from the database, else 0.",
    ["group"],
  );
  // The cheap ones first: what waits for a lost node takes connections.
  const groups = [schema, backup, tasks, queue, syncs, deliveries].map((create) => create(gauge));
  const readAll = async (): Promise<void> => {
    const isUp = await within(LONGEST_READ_MS, answers(database)).catch(() => false);
    const shows = await Promise.all(
      groups.map(async ({ read }) => (isUp ? readInTime(read(database)) : null)),
    );
    // In one turn of the event loop, so that no scrape sees a partial update.
    up.set(isUp ? 1 : 0);
    for (const [index, { name, gauges }] of groups.entries()) {
      for (const shown of gauges) shown.clear();
      const show = shows[index] ?? null;
      show?.();
      unavailable.set({ group: name }, show === null ? 1 : 0);
    }
  };
  let current: Promise<void> | null = null;
  return () => (current ??= readAll().finally(() => (current = null)));
}

function readInTime(reading: Promise<() => void>): Promise<(() => void) | null> {
  return within(LONGEST_READ_MS, reading).catch(() => null);
}

function schema(gauge: MakeGauge): MetricsGroup {
  const level = gauge("returns_schema_level", "Migrations that the database has run.");
  const wanted = gauge("returns_schema_level_wanted", "Migrations that this version knows.");
  return group(
    "schema",
    [level, wanted],
    async (database) => [await appliedMigrations(database), await knownMigrations()] as const,
    ([applied, known]) => {
      level.set(applied.length);
      wanted.set(known.length);
    },
  );
}

function backup(gauge: MakeGauge): MetricsGroup {
  const age = gauge(
    "returns_backup_age_seconds",
    "Time since the newest backup started; absent when there is none.",
  );
  return group("backup", [age], findBackupAge, (ageSeconds) => {
    if (ageSeconds !== null) age.set(ageSeconds);
  });
}

function tasks(gauge: MakeGauge): MetricsGroup {
  const late = gauge("returns_task_late_seconds", "How late a scheduled task is; 0 when it is not late.", [
    "task",
  ]);
  return group("tasks", [late], listTaskDelays, (rows) => {
    for (const { task, late_seconds: lateSeconds } of rows) late.set({ task }, lateSeconds);
  });
}

/** Claims and sessions of workers are known to the server that workers connect to: a node of a Citus shows nothing here. */
function queue(gauge: MakeGauge): MetricsGroup {
  const workers = gauge("returns_workers", "Workers that are connected to the database.");
  const due = gauge("returns_sync_runs_due", "Runs that are due and that no worker has begun.", [
    "source_kind",
  ]);
  const age = gauge(
    "returns_sync_due_age_seconds",
    "How long the oldest run that has not started has been due; 0 when there is none.",
    ["source_kind"],
  );
  return group(
    "queue",
    [workers, due, age],
    async (database) =>
      (await seesWorkers(database))
        ? { workers: await countWorkers(database), kinds: await listDueRuns(database) }
        : null,
    (found) => {
      if (found === null) return;
      workers.set(found.workers);
      for (const kind of ["store", "label_cost", "upload"] as const) {
        const row = found.kinds.find((each) => each.kind === kind);
        due.set({ source_kind: kind }, row?.due_runs ?? 0);
        if (kind !== "upload") age.set({ source_kind: kind }, row?.age_seconds ?? 0);
      }
    },
  );
}

function syncs(gauge: MakeGauge): MetricsGroup {
  const labels = ["source_kind"];
  const age = gauge(
    "returns_sync_age_seconds",
    "Time since the newest successful sync of any source of a kind.",
    labels,
  );
  const overdue = gauge(
    "returns_sync_overdue_seconds",
    "How long the scheduled poll of a kind that is late most has been due; 0 when none is.",
    labels,
  );
  const failed = gauge("returns_sync_runs_failed", "Runs that failed within the last 24 hours.", labels);
  const connections = gauge("returns_connections", "Connected sources, by how their last run ended.", [
    "source_kind",
    "status",
  ]);
  const unbalanced = gauge(
    "returns_sync_unbalanced_lines",
    "Lines read within the last 24 hours whose units do not fit their sales ledger.",
  );
  const read = async (database: Queryable) =>
    [await syncMetrics(database), await runMetrics(database)] as const;
  return group("syncs", [age, overdue, failed, connections, unbalanced], read, ([rows, runs]) => {
    unbalanced.set(runs.reduce((sum, row) => sum + row.unbalanced_lines, 0));
    for (const kind of ["store", "label_cost"] as const) {
      const own = rows.filter((row) => row.kind === kind);
      const ageSeconds = syncAgeSeconds(rows, kind);
      if (ageSeconds !== null) age.set({ source_kind: kind }, ageSeconds);
      overdue.set({ source_kind: kind }, overdueSeconds(rows, kind));
      failed.set({ source_kind: kind }, runs.find((row) => row.kind === kind)?.failed_runs ?? 0);
      for (const status of CONNECTION_STATUSES) {
        const found = own.find((row) => row.status === status)?.connections ?? 0;
        connections.set({ source_kind: kind, status }, found);
      }
    }
  });
}

function deliveries(gauge: MakeGauge): MetricsGroup {
  const labels = ["endpoint_kind"];
  const pending = gauge(
    "returns_alert_deliveries_pending",
    "Alerts that are due and not delivered yet.",
    labels,
  );
  const age = gauge(
    "returns_alert_delivery_age_seconds",
    "How long the oldest undelivered alert has been due.",
    labels,
  );
  const paused = gauge(
    "returns_alert_endpoints_paused",
    "Endpoints that are paused because their deliveries failed.",
    labels,
  );
  return group("deliveries", [pending, age, paused], deliveryMetrics, (kinds) => {
    for (const { kind, age_seconds: ageSeconds, ...counts } of kinds) {
      pending.set({ endpoint_kind: kind }, counts.pending);
      age.set({ endpoint_kind: kind }, ageSeconds ?? 0);
      paused.set({ endpoint_kind: kind }, counts.paused);
    }
  });
}

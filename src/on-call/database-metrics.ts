import { within } from "../lib/within.ts";
import type { Queryable } from "../store/database.ts";
import { knownMigrations } from "../store/migrate.ts";
import { deliveryMetrics } from "../store/queries/alert-delivery.ts";
import { answers, findBackupAge, listDueRuns, listTaskDelays } from "../store/queries/on-call.ts";
import { appliedMigrations } from "../store/queries/schema.ts";
import { CONNECTION_STATUSES, syncAgeSeconds, syncMetrics } from "../store/queries/sync-metrics.ts";
import { countWorkers } from "../store/queries/worker-upkeep.ts";
import { seesWorkers } from "../store/worker-session.ts";
import type { MakeGauge, ReadGauge } from "./gauge.ts";

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
 * What each look reads of the database. A group that cannot be read, such as one that asks all nodes of a Citus while one is
 * lost, is left out and named by returns_metrics_unavailable; the others are shown. Looks at the same time are one.
 */
export function createDatabaseMetrics(database: Queryable, gauge: MakeGauge): () => Promise<void> {
  const up = gauge("returns_database_up", "1 when the database answers, else 0.");
  const unavailable = gauge(
    "returns_metrics_unavailable",
    "1 when a group of metrics could not be read of the database, else 0.",
    ["group"],
  );
  // The cheap ones first: what waits for a lost node takes connections.
  const groups = [schema, backup, tasks, queue, syncs, deliveries].map((create) => create(gauge));
  const look = async (): Promise<void> => {
    const isUp = await within(LONGEST_READ_MS, answers(database)).catch(() => false);
    const shows = await Promise.all(
      groups.map(async ({ read }) => (isUp ? readInTime(read(database)) : null)),
    );
    // In one turn of the event loop, so that no look shows half of it.
    up.set(isUp ? 1 : 0);
    for (const [index, { name, gauges }] of groups.entries()) {
      for (const shown of gauges) shown.clear();
      const show = shows[index] ?? null;
      show?.();
      unavailable.set({ group: name }, show === null ? 1 : 0);
    }
  };
  let current: Promise<void> | null = null;
  return () => (current ??= look().finally(() => (current = null)));
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
  const failed = gauge("returns_sync_runs_failed", "Runs that failed within the last 24 hours.", labels);
  const connections = gauge("returns_connections", "Connected sources, by how their last run ended.", [
    "source_kind",
    "status",
  ]);
  return group("syncs", [age, failed, connections], syncMetrics, (rows) => {
    for (const kind of ["store", "label_cost"] as const) {
      const own = rows.filter((row) => row.kind === kind);
      const ageSeconds = syncAgeSeconds(rows, kind);
      if (ageSeconds !== null) age.set({ source_kind: kind }, ageSeconds);
      failed.set(
        { source_kind: kind },
        own.reduce((sum, row) => sum + row.failed_runs, 0),
      );
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

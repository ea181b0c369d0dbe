import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { Counter, Gauge } from "prom-client";
import type { Config } from "./config.ts";
import { createHttpMetrics } from "./http/metrics.ts";
import type { HttpMetrics } from "./http/metrics.ts";
import { createOperationsServer } from "./http/server.ts";
import { VERSION } from "./lib/version.ts";
import { within } from "./lib/within.ts";
import type { DatabasePool, Queryable } from "./store/database.ts";
import { knownMigrations } from "./store/migrate.ts";
import { deliveryMetrics } from "./store/queries/alert-delivery.ts";
import type { DeliveryMetricsRow } from "./store/queries/alert-delivery.ts";
import { appliedMigrations } from "./store/queries/schema.ts";
import { checkReadiness } from "./store/readiness.ts";
import { syncMetrics } from "./store/queries/sync-metrics.ts";

/** The metrics of one process: its requests, its pools, and what each scrape reads from the database. */
export type Metrics = HttpMetrics & {
  /** A request was refused because its workspace's daily quota is used up. */
  countQuotaRefusal: () => void;
  /** A delivery of the store platform was refused. */
  countRefusedWebhook: (status: number) => void;
  /** Shows a pool under this name from now on. */
  watchPool(pool: string, database: DatabasePool): void;
};

/** A probe is answered soon, even if the database does not respond. */
const LOOK_TIMEOUT_MS = 3000;

/** `database` is asked at each look; what it does not answer in time is left out, and returns_database_up is 0. */
export function createMetrics(database: Queryable): Metrics {
  const http = createHttpMetrics();
  const registers = [http.registry];
  const pools = new Map<string, DatabasePool>();
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
  const gauge = gaugesOf(http);
  gauge("returns_info", "The version of this process.", ["version"]).labels(VERSION).set(1);
  const showPools = createPoolGauges(pools, gauge);
  const showDatabase = createDatabaseGauges(database, gauge);
  return {
    ...http,
    countQuotaRefusal: () => quotaRefusals.inc(),
    countRefusedWebhook: (status) => refusedWebhooks.inc({ status }),
    watchPool: (pool, watched) => void pools.set(pool, watched),
    render: async () => {
      showPools();
      await showDatabase();
      return http.render();
    },
  };
}

type MakeGauge = (name: string, help: string, labelNames?: string[]) => Gauge;

function gaugesOf({ registry }: HttpMetrics): MakeGauge {
  return (name, help, labelNames = []) => new Gauge({ name, help, labelNames, registers: [registry] });
}

function createPoolGauges(pools: ReadonlyMap<string, DatabasePool>, gauge: MakeGauge): () => void {
  const connections = gauge(
    "returns_database_pool_connections",
    "Open connections of a pool, by whether they are in use.",
    ["pool", "state"],
  );
  const waiting = gauge(
    "returns_database_pool_waiting",
    "Statements that wait for a connection of a pool now.",
    ["pool"],
  );
  const waits = gauge(
    "returns_database_pool_waits_total",
    "Statements and transactions that had to wait for a connection of a pool.",
    ["pool"],
  );
  return () => {
    for (const [pool, database] of pools) {
      const usage = database.usage();
      connections.set({ pool, state: "idle" }, usage.idle);
      connections.set({ pool, state: "used" }, usage.open - usage.idle);
      waiting.set({ pool }, usage.waiting);
      waits.set({ pool }, usage.waits);
    }
  };
}

function createDatabaseGauges(database: Queryable, gauge: MakeGauge): () => Promise<void> {
  const up = gauge("returns_database_up", "1 when the database answers, else 0.");
  const levels = [
    gauge("returns_schema_level", "Migrations that the database has run."),
    gauge("returns_schema_level_wanted", "Migrations that this version knows."),
  ] as const;
  const age = gauge(
    "returns_sync_age_seconds",
    "Time since the newest successful sync of any source of a kind.",
    ["source_kind"],
  );
  const due = gauge("returns_sync_runs_due", "Runs whose time has come and that have not begun.", [
    "source_kind",
  ]);
  const failed = gauge("returns_sync_runs_failed", "Runs that failed within the last 24 hours.", [
    "source_kind",
  ]);
  const deliveries = createDeliveryGauges(gauge);
  return async () => {
    for (const shown of [...levels, age, due, failed]) shown.reset();
    deliveries.reset();
    try {
      const [applied, kinds, ofDeliveries] = await within(
        LOOK_TIMEOUT_MS,
        Promise.all([appliedMigrations(database), syncMetrics(database), deliveryMetrics(database)]),
      );
      deliveries.set(ofDeliveries);
      levels[0].set(applied.length);
      levels[1].set((await knownMigrations()).length);
      for (const { kind, age_seconds: ageSeconds, ...runs } of kinds) {
        if (ageSeconds !== null) age.set({ source_kind: kind }, ageSeconds);
        due.set({ source_kind: kind }, runs.due_runs);
        failed.set({ source_kind: kind }, runs.failed_runs);
      }
      up.set(1);
    } catch {
      up.set(0);
    }
  };
}

function createDeliveryGauges(gauge: MakeGauge): {
  reset(): void;
  set(kinds: readonly DeliveryMetricsRow[]): void;
} {
  const labels = ["endpoint_kind"];
  const pending = gauge(
    "returns_alert_deliveries_pending",
    "Alerts that are due and not delivered yet.",
    labels,
  );
  const age = gauge(
    "returns_alert_delivery_age_seconds",
    "How long the oldest alert that is due has not been delivered.",
    labels,
  );
  const paused = gauge(
    "returns_alert_endpoints_paused",
    "Endpoints that are paused because their deliveries failed.",
    labels,
  );
  return {
    reset: () => {
      for (const shown of [pending, age, paused]) shown.reset();
    },
    set: (kinds) => {
      for (const { kind, age_seconds: ageSeconds, ...counts } of kinds) {
        pending.set({ endpoint_kind: kind }, counts.pending);
        age.set({ endpoint_kind: kind }, ageSeconds ?? 0);
        paused.set({ endpoint_kind: kind }, counts.paused);
      }
    },
  };
}

/** Health, readiness and metrics of a process, for a port of its own or beside the API. */
export type OperatorRoutes = {
  registerProbes: (server: FastifyInstance) => void;
  registerMetrics: (server: FastifyInstance) => void;
  /** From now on readiness says no. */
  drain(): void;
};

/**
 * /healthz touches nothing; /readyz tells the database, its schema level and draining; /metrics is for Prometheus. They are
 * no part of the customer API; production gives them a port of their own.
 */
export function createOperatorRoutes(metrics: Metrics, database: Queryable): OperatorRoutes {
  let isDraining = false;
  return {
    registerProbes: (server) => {
      server.get("/healthz", async () => ({ status: "ok" }));
      server.get("/readyz", async (_request, reply) => {
        const readiness = isDraining
          ? { ready: false as const, reason: "draining" }
          : await checkReadiness(database);
        if (readiness.ready) return { status: "ready" };
        return reply.code(503).send({ status: "not_ready", reason: readiness.reason });
      });
    },
    registerMetrics: (server) => {
      server.get("/metrics", async (_request, reply) => {
        const { body, contentType } = await metrics.render();
        return reply.type(contentType).send(body);
      });
    },
    drain: () => {
      isDraining = true;
    },
  };
}

/** Listens on the port for operators alone; null where none is set. */
export async function listenForOperators(
  { operationsHost: host, operationsPort: port }: Config,
  routes: OperatorRoutes,
  logger: FastifyBaseLogger,
): Promise<{ address: string; close(): Promise<void> } | null> {
  if (port === null) return null;
  const server = createOperationsServer(logger, (own) => {
    routes.registerProbes(own);
    routes.registerMetrics(own);
  });
  const address = await server.listen({ host, port });
  return { address, close: () => server.close() };
}

import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { Counter, Histogram } from "prom-client";
import type { Config } from "./config.ts";
import { createHttpMetrics, DURATION_BUCKETS_SECONDS } from "./http/metrics.ts";
import type { HttpMetrics } from "./http/metrics.ts";
import { createOperationsServer } from "./http/server.ts";
import { VERSION } from "./lib/version.ts";
import { createDatabaseMetrics } from "./on-call/database-metrics.ts";
import { gaugesOf } from "./on-call/gauge.ts";
import { createPoolMetrics } from "./on-call/pool-metrics.ts";
import type { DatabasePool, Queryable } from "./store/database.ts";
import { checkReadiness } from "./store/readiness.ts";

/** The metrics of one process: its requests, its pools, and what each scrape reads from the database. */
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

/** `database` is asked at each look; what it does not answer in time is left out. */
export function createMetrics(database: Queryable): Metrics {
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
      await showDatabase();
      return http.render();
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

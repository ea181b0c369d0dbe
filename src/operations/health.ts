import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { Config } from "../config.ts";
import { createOperationsServer } from "../http/server.ts";
import type { Queryable } from "../store/database.ts";
import { checkReadiness } from "../store/migrate.ts";
import type { Metrics } from "./metrics.ts";

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

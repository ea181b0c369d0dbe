import type { FastifyInstance } from "fastify";
import type { HttpMetrics } from "./metrics.ts";

export type Readiness = { ready: true } | { ready: false; reason: string };

/**
 * Adds /healthz (touches nothing) and /readyz (database, schema level, draining). Like /metrics they are no part of the
 * customer API; production gives them a port of their own.
 */
export function registerProbes(server: FastifyInstance, checkReadiness: () => Promise<Readiness>): void {
  server.get("/healthz", async () => ({ status: "ok" }));
  server.get("/readyz", async (_request, reply) => {
    const readiness = await checkReadiness();
    return reply
      .code(readiness.ready ? 200 : 503)
      .send(readiness.ready ? { status: "ready" } : { status: "not_ready", reason: readiness.reason });
  });
}

/** Adds /metrics (Prometheus). */
export function registerMetrics(server: FastifyInstance, metrics: HttpMetrics): void {
  server.get("/metrics", async (_request, reply) => {
    const { body, contentType } = await metrics.render();
    return reply.type(contentType).send(body);
  });
}

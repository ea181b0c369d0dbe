import type { FastifyInstance } from "fastify";
import type { HttpMetrics } from "./metrics.ts";

export type Readiness = { ready: true } | { ready: false; reason: string };

/**
 * Adds /healthz (touches nothing), /readyz (database, schema level, draining) and /metrics (Prometheus). None of them
 * is part of the customer API; production gives them a port of their own.
 */
export function registerOperationsRoutes(
  server: FastifyInstance,
  options: { readiness: () => Promise<Readiness>; metrics: HttpMetrics },
): void {
  server.get("/healthz", async () => ({ status: "ok" }));
  server.get("/readyz", async (_request, reply) => {
    const readiness = await options.readiness();
    return reply
      .code(readiness.ready ? 200 : 503)
      .send(readiness.ready ? { status: "ready" } : { status: "not_ready", reason: readiness.reason });
  });
  server.get("/metrics", async (_request, reply) => {
    const { body, contentType } = await options.metrics.render();
    return reply.type(contentType).send(body);
  });
}

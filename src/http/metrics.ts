import type { FastifyReply, FastifyRequest } from "fastify";
import { Histogram, Registry, collectDefaultMetrics } from "prom-client";

/** Prometheus metrics of the HTTP surface; no label names a tenant. */
export type HttpMetrics = {
  /** For what else the process measures. */
  registry: Registry;
  observe(request: FastifyRequest, reply: FastifyReply): void;
  /** The text exposition format and its content type. */
  render(): Promise<{ body: string; contentType: string }>;
};

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Names follow OpenTelemetry's http.server.request.duration. */
export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: "http_server_request_duration_seconds",
    help: "Duration of HTTP requests.",
    labelNames: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    registry,
    observe: (request, reply) => {
      const labels = {
        http_request_method: request.method,
        http_route: request.routeOptions.url ?? "unknown",
        http_response_status_code: String(reply.statusCode),
      };
      duration.observe(labels, reply.elapsedTime / 1000);
    },
    render: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  };
}

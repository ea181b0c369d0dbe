import type { FastifyReply, FastifyRequest } from "fastify";
import { Counter, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { ERROR_STATUS, type ErrorCode } from "../contract/errors.ts";

/** Prometheus metrics of the HTTP surface; no label names a tenant. */
export type HttpMetrics = {
  /** For what else the process measures. */
  registry: Registry;
  observe(request: FastifyRequest, reply: FastifyReply): void;
  /** A tool was answered with an error, whose HTTP status is 200. */
  countToolError: (code: ErrorCode) => void;
  /** The text exposition format and its content type. */
  render(): Promise<{ body: string; contentType: string }>;
};

export const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const CODES = Object.keys(ERROR_STATUS) as ErrorCode[];
const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map(
  CODES.map((code) => [ERROR_STATUS[code], code]),
);

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
  const errors = new Counter({
    name: "returns_request_errors_total",
    help: "Requests and tool calls of the API that were answered with an error, by its code.",
    labelNames: ["code"],
    registers: [registry],
  });
  // A series that begins with 1 has no rate.
  for (const code of CODES) errors.inc({ code }, 0);
  return {
    registry,
    countToolError: (code) => errors.inc({ code }),
    observe: (request, reply) => {
      const labels = {
        http_request_method: request.method,
        http_route: request.routeOptions.url ?? "unknown",
        http_response_status_code: String(reply.statusCode),
      };
      duration.observe(labels, reply.elapsedTime / 1000);
      if (reply.statusCode >= 400 && request.raw.url?.startsWith("/api/") === true) {
        errors.inc({ code: CODE_OF_STATUS.get(reply.statusCode) ?? "invalid_request" });
      }
    },
    render: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  };
}

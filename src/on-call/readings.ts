import { SERVING_POOLS } from "./promql.ts";
import type { RuleName } from "./rules.ts";
import { quantileOf, sumOf } from "./samples.ts";
import type { Sample } from "./samples.ts";

/** A value that a rule judges, and what its sentence names. */
export type Reading = { value: number; about: string };

/** How one process stands to a rule. Shares and durations are those since it began: one look knows no window of minutes. */
export type ProcessReading = { rule: RuleName; sinceStart: boolean; readings: readonly Reading[] };

const REQUEST = "http_server_request_duration_seconds";
const isApi = (labels: Sample["labels"]): boolean => labels["http_route"]?.startsWith("/api/") === true;

/** What one look at /metrics says of the rules that only a running process knows. */
export function readProcess(samples: readonly Sample[]): ProcessReading[] {
  const requests = sumOf(samples, `${REQUEST}_count`, isApi);
  const errors = (...codes: string[]): number =>
    sumOf(samples, "returns_request_errors_total", ({ code = "" }) => codes.includes(code));
  const share = (count: number): Reading[] => [{ value: count / requests, about: "" }];
  const since = (rule: RuleName, readings: readonly Reading[]): ProcessReading => ({
    rule,
    sinceStart: true,
    readings,
  });
  const now = (rule: RuleName, readings: readonly Reading[]): ProcessReading => ({
    rule,
    sinceStart: false,
    readings,
  });
  return [
    now("ReturnsMetricsUnavailable", gaugesOf(samples, "returns_metrics_unavailable", "group")),
    now("ReturnsEventLoopSlow", gaugesOf(samples, "nodejs_eventloop_lag_p99_seconds", null)),
    since("ReturnsErrors", share(errors("internal_error"))),
    since("ReturnsSlow", [{ value: quantileOf(samples, REQUEST, 0.95, isApi), about: "" }]),
    since("ReturnsAdmissionSlow", [
      { value: quantileOf(samples, "returns_admission_wait_seconds", 0.95), about: "" },
    ]),
    now("ReturnsPoolFull", poolUse(samples)),
    since("ReturnsBusy", share(errors("rate_limited") - sumOf(samples, "returns_quota_refusals_total"))),
    since("ReturnsCallersRefused", share(errors("unauthorized", "forbidden"))),
  ];
}

function gaugesOf(samples: readonly Sample[], name: string, label: string | null): Reading[] {
  return samples
    .filter((sample) => sample.name === name)
    .map(({ labels, value }) => ({ value, about: label === null ? "the service" : (labels[label] ?? "") }));
}

function poolUse(samples: readonly Sample[]): Reading[] {
  return SERVING_POOLS.map((pool) => {
    const isOfPool = (labels: Sample["labels"]): boolean =>
      labels["pool"] === pool && labels["state"] !== "idle";
    const used = sumOf(samples, "returns_database_pool_connections", isOfPool);
    return { value: used / sumOf(samples, "returns_database_pool_limit", isOfPool), about: pool };
  });
}

import { allServers, API, errors, JOB, OTHER_ROUTES, requests, SERVING_POOLS, WEBHOOKS } from "./promql.ts";
import type { Rule } from "./rule.ts";

/** What callers notice. */
export const REQUEST_RULES = [
  {
    name: "ReturnsErrors",
    severity: "critical",
    value: `${errors("internal_error")} / ${requests(API)}`,
    is: ">",
    limit: 0.02,
    unit: "share",
    forMinutes: 5,
    about: null,
    sentence: (value) => `${value} of the API's requests fail.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsRouteErrors",
    severity: "warning",
    value: `${requests(`${OTHER_ROUTES}, http_response_status_code=~"5.."`, "5m", [])} / ${requests(OTHER_ROUTES, "5m", [])}`,
    is: ">",
    limit: 0.05,
    unit: "share",
    forMinutes: 10,
    about: "http_route",
    sentence: (value, route) => `${value} of the requests of ${route} fail.`,
    doctor: null,
  },
  {
    name: "ReturnsSlow",
    severity: "warning",
    value: `histogram_quantile(0.95, ${allServers(
      "sum",
      `rate(http_server_request_duration_seconds_bucket{${JOB}, ${API}}[5m])`,
      "http_request_method",
      "http_response_status_code",
      "http_route",
    )})`,
    is: ">",
    limit: 1,
    unit: "seconds",
    forMinutes: 10,
    about: null,
    sentence: (value) => `One request in twenty takes longer than ${value}.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsAdmissionSlow",
    severity: "warning",
    value: `histogram_quantile(0.95, ${allServers("sum", "rate(returns_admission_wait_seconds_bucket[5m])")})`,
    is: ">",
    limit: 0.25,
    unit: "seconds",
    forMinutes: 5,
    about: null,
    sentence: (value) => `One request in twenty waits longer than ${value} until it is admitted.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsPoolFull",
    severity: "warning",
    value:
      `sum without (state) (returns_database_pool_connections{state="used", pool=~"${SERVING_POOLS.join("|")}"}) ` +
      "/ returns_database_pool_limit",
    is: ">=",
    limit: 1,
    unit: "share",
    forMinutes: 5,
    about: "pool",
    sentence: (value, pool) =>
      `${value} of the connections of the pool ${pool} are in use: further requests wait.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsBusy",
    severity: "warning",
    value:
      `(${errors("rate_limited")} - ` +
      `${allServers("sum", "rate(returns_quota_refusals_total[5m])")}) / ${requests(API)}`,
    is: ">",
    limit: 0.02,
    unit: "share",
    forMinutes: 10,
    about: null,
    sentence: (value) =>
      `${value} of the API's requests are refused because their workspace sends too many at once.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsCallersRefused",
    severity: "warning",
    value: `${errors("unauthorized|forbidden")} / ${requests(API)}`,
    is: ">",
    limit: 0.25,
    unit: "share",
    forMinutes: 15,
    about: null,
    sentence: (value) =>
      `${value} of the API's requests are refused for their token, billing, plan or scope.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsWebhooksRefused",
    severity: "warning",
    value:
      `${allServers("sum", 'rate(returns_webhooks_refused_total{status=~"4.."}[15m])', "status")} / ` +
      requests(WEBHOOKS, "15m"),
    is: ">",
    limit: 0.1,
    unit: "share",
    forMinutes: 15,
    about: null,
    sentence: (value) => `${value} of the store platform's webhooks are refused.`,
    doctor: null,
  },
] as const satisfies readonly Rule[];

/** PromQL that several rules share. */

/** The scrape job of every server and worker of an installation has a name that begins so. */
export const JOB = 'job=~"returns-analytics.*"';

export const API = 'http_route=~"/api/.*"';
/** Everything else that people and platforms ask; probes answer 503 on purpose. */
export const OTHER_ROUTES = 'http_route!~"/api/.*|/healthz|/readyz|/metrics"';
export const WEBHOOKS = 'http_route="/webhooks/shopify"';

/** Over all servers of an installation; what else a scrape adds, such as its cluster, stays. */
export const allServers = (function_: string, value: string, ...labels: string[]): string =>
  `${function_} without (${["instance", "pod", ...labels].join(", ")}) (${value})`;

export const requests = (selector: string, window = "5m", labels = ["http_route"]): string =>
  allServers(
    "sum",
    `rate(http_server_request_duration_seconds_count{${JOB}, ${selector}}[${window}])`,
    "http_request_method",
    "http_response_status_code",
    ...labels,
  );

export const errors = (codes: string): string =>
  allServers("sum", `rate(returns_request_errors_total{code=~"${codes}"}[5m])`, "code");

/** Pools whose connections are held for moments: exports, runs and pushes may use all of theirs for long. */
export const SERVING_POOLS = ["admission", "reading", "taking", "console"];

import { isBroken } from "./rule.ts";
import type { Rule, RuleGroup } from "./rule.ts";

/** The scrape job of every server and worker of an installation has a name that begins so. */
export const JOB = 'job=~"returns-analytics.*"';

const API = 'http_route=~"/api/.*"';
/** Everything else that people and platforms ask; probes answer 503 on purpose. */
const OTHER_ROUTES = 'http_route!~"/api/.*|/healthz|/readyz|/metrics"';
const WEBHOOKS = 'http_route="/webhooks/shopify"';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Over all servers of an installation; what else a scrape adds, such as its cluster, stays. */
const allServers = (function_: string, value: string, ...labels: string[]): string =>
  `${function_} without (${["instance", "pod", ...labels].join(", ")}) (${value})`;

const requests = (selector: string, window = "5m", labels = ["http_route"]): string =>
  allServers(
    "sum",
    `rate(http_server_request_duration_seconds_count{${JOB}, ${selector}}[${window}])`,
    "http_request_method",
    "http_response_status_code",
    ...labels,
  );

const errors = (codes: string): string =>
  allServers("sum", `rate(returns_request_errors_total{code=~"${codes}"}[5m])`, "code");

/** Pools whose connections are held for moments: exports, runs and pushes may use all of theirs for long. */
export const SERVING_POOLS = ["admission", "reading", "taking", "console"];

/** A process, its database, and whether it can be seen at all. */
const SERVICE = [
  {
    name: "ReturnsDown",
    severity: "critical",
    value: `up{${JOB}}`,
    is: "<",
    limit: 1,
    unit: "count",
    forMinutes: 2,
    about: "instance",
    sentence: (_value, instance) => `${instance} does not answer.`,
    doctor: null,
  },
  {
    name: "ReturnsAbsent",
    severity: "critical",
    value: `absent(up{${JOB}})`,
    is: "==",
    limit: 1,
    unit: "count",
    forMinutes: 5,
    about: null,
    sentence: () => "Prometheus knows no server of the service.",
    doctor: null,
  },
  {
    name: "ReturnsDatabaseDown",
    severity: "critical",
    value: "returns_database_up",
    is: "<",
    limit: 1,
    unit: "count",
    forMinutes: 2,
    about: "instance",
    sentence: (_value, instance) => `The database does not answer ${instance}.`,
    doctor: "database",
  },
  {
    name: "ReturnsSchemaBehind",
    severity: "critical",
    value: "returns_schema_level - returns_schema_level_wanted",
    is: "<",
    limit: 0,
    unit: "count",
    forMinutes: 10,
    about: "instance",
    sentence: (_value, instance) => `The database's schema is behind the version of ${instance}.`,
    doctor: "database",
  },
  {
    name: "ReturnsMetricsUnavailable",
    severity: "warning",
    value: "(returns_metrics_unavailable and on (job, instance) (returns_database_up == 1))",
    is: ">",
    limit: 0,
    unit: "count",
    forMinutes: 10,
    about: "group",
    sentence: (_value, group) => `The metrics of ${group} cannot be read, and no rule about them alerts.`,
    doctor: "metrics",
  },
  {
    name: "ReturnsEventLoopSlow",
    severity: "warning",
    value: `nodejs_eventloop_lag_p99_seconds{${JOB}}`,
    is: ">",
    limit: 0.2,
    unit: "seconds",
    forMinutes: 10,
    about: "instance",
    sentence: (value, instance) => `Requests wait ${value} for the processor of ${instance}.`,
    doctor: "metrics",
  },
] as const satisfies readonly Rule[];

/** What callers notice. */
const REQUESTS = [
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
    sentence: (value, pool) => `${value} of the pool ${pool} is in use: further requests wait.`,
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
    sentence: (value) => `${value} of the API's requests are refused because their workspace had no turn in time.`,
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
    sentence: (value) => `${value} of the API's requests are refused for their token, billing, plan or scope.`,
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

/** Whether the data is kept up to date, and news gets out. */
const DATA = [
  {
    name: "ReturnsNoWorker",
    severity: "warning",
    value: `(${allServers("max", "returns_workers")} and on (job) (sum by (job) (returns_connections) > 0))`,
    is: "<",
    limit: 1,
    unit: "count",
    forMinutes: 5,
    about: null,
    sentence: () => "No worker is running: nothing is synced, and no alert is evaluated or pushed.",
    doctor: "database",
  },
  {
    name: "ReturnsTasksLate",
    severity: "warning",
    value: allServers("min", "returns_task_late_seconds"),
    is: ">",
    limit: HOUR,
    unit: "seconds",
    forMinutes: 5,
    about: "task",
    sentence: (value, task) => `The scheduled task ${task} is ${value} late.`,
    doctor: "database",
  },
  {
    name: "ReturnsRunsDue",
    severity: "warning",
    value: allServers("min", "returns_sync_due_age_seconds"),
    is: ">",
    limit: 15 * MINUTE,
    unit: "seconds",
    forMinutes: 5,
    about: "source_kind",
    sentence: (value, kind) => `A run of a ${kind} source has been due for ${value}, and no worker has begun it.`,
    doctor: "database",
  },
  {
    name: "ReturnsUploadsWaiting",
    severity: "warning",
    value: allServers("min", 'returns_sync_runs_due{source_kind="upload"}'),
    is: ">",
    limit: 0,
    unit: "count",
    forMinutes: 15,
    about: null,
    sentence: () => "An upload waits for a worker.",
    doctor: "database",
  },
  {
    name: "ReturnsStoresLate",
    severity: "critical",
    value: allServers("min", 'returns_sync_age_seconds{source_kind="store"}'),
    is: ">",
    limit: HOUR,
    unit: "seconds",
    forMinutes: 5,
    about: null,
    sentence: (value) => `No store was synced for ${value}.`,
    doctor: "database",
  },
  {
    name: "ReturnsLabelsLate",
    severity: "warning",
    value: allServers("min", 'returns_sync_age_seconds{source_kind="label_cost"}'),
    is: ">",
    limit: 3 * HOUR,
    unit: "seconds",
    forMinutes: 5,
    about: null,
    sentence: (value) => `No source of label costs was synced for ${value}.`,
    doctor: "database",
  },
  {
    name: "ReturnsSourcesFailing",
    severity: "warning",
    value:
      `${allServers("max", 'returns_connections{status="failed"}', "status")} / ` +
      `sum without (status) (${allServers("max", 'returns_connections{status!="disconnected"}')})`,
    is: ">",
    limit: 0.2,
    unit: "share",
    forMinutes: 30,
    about: "source_kind",
    sentence: (value, kind) => `The last run of ${value} of the ${kind} sources failed.`,
    doctor: "database",
  },
  {
    name: "ReturnsDeliveriesLate",
    severity: "warning",
    value: allServers("min", "returns_alert_delivery_age_seconds"),
    is: ">",
    limit: HOUR,
    unit: "seconds",
    forMinutes: 5,
    about: "endpoint_kind",
    sentence: (value, kind) => `An alert has been due for ${value} at an endpoint of the kind ${kind}.`,
    doctor: "database",
  },
] as const satisfies readonly Rule[];

/** For installations that are backed up by `./returns backup`; others leave this group out. */
const BACKUP = [
  {
    name: "ReturnsBackupOld",
    severity: "warning",
    value: allServers("min", "returns_backup_age_seconds"),
    is: ">",
    limit: 26 * HOUR,
    unit: "seconds",
    forMinutes: 5,
    about: null,
    sentence: (value) => `The newest backup is ${value} old.`,
    doctor: "database",
  },
  {
    name: "ReturnsBackupMissing",
    severity: "warning",
    value: allServers("min", "returns_database_up unless on (job, instance) returns_backup_age_seconds"),
    is: ">=",
    limit: 0,
    unit: "count",
    forMinutes: 24 * 60,
    about: null,
    sentence: () => "No backup was ever made.",
    doctor: "database",
  },
] as const satisfies readonly Rule[];

/** Every rule, in the order of docs/on-call.md. */
export const RULE_GROUPS = [
  { name: "returns-service", rules: SERVICE },
  { name: "returns-requests", rules: REQUESTS },
  { name: "returns-data", rules: DATA },
  { name: "returns-backup", rules: BACKUP },
] as const satisfies readonly RuleGroup[];

export const RULES: readonly Rule[] = RULE_GROUPS.flatMap(({ rules }): readonly Rule[] => rules);

export type RuleName = (typeof RULE_GROUPS)[number]["rules"][number]["name"];

export function findRule(name: RuleName): Rule {
  return RULES.find((rule) => rule.name === name) as Rule;
}

/** Whether a rule alerts to a value, once it has been so for its minutes. */
export function alertsTo(name: RuleName, value: number): boolean {
  return isBroken(findRule(name), value);
}

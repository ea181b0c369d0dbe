import type { RuleName } from "../../src/on-call/rules.ts";

/** What a panel draws: PromQL, and how its lines are named. */
type Query = readonly [expression: string, legend: string];

export type Panel = {
  title: string;
  description: string;
  /** As Grafana names it: s, reqps, percentunit, bytes, short. */
  unit: string;
  /** The alert whose limit is drawn. */
  rule?: RuleName;
  isStacked?: boolean;
  queries: readonly Query[];
};

const OWN = 'job=~"$job", instance=~"$instance"';
const API = `${OWN}, http_route=~"/api/.*"`;
const REQUESTS = "http_server_request_duration_seconds";
const rate = (metric: string, selector = OWN): string => `rate(${metric}{${selector}}[$__rate_interval])`;
/** The same of every server: what they read of their common database. */
const same = (metric: string, ...labels: string[]): string =>
  `max by (${["job", ...labels].join(", ")}) (${metric}{${OWN}})`;

const durations = (metric: string, selector = OWN): Query[] =>
  [0.5, 0.95, 0.99].map((share) => [
    `histogram_quantile(${share}, sum by (le) (${rate(`${metric}_bucket`, selector)}))`,
    `p${share * 100}`,
  ]);

/** The rows of the dashboard with their panels, from top to bottom. */
export const DASHBOARD_ROWS: readonly { title: string; panels: readonly Panel[] }[] = [
  {
    title: "Traffic and errors",
    panels: [
      {
        title: "Requests",
        description: "All routes, by status.",
        unit: "reqps",
        isStacked: true,
        queries: [
          [
            `sum by (http_response_status_code) (${rate(`${REQUESTS}_count`)})`,
            "{{http_response_status_code}}",
          ],
        ],
      },
      {
        title: "Errors of the API",
        description: "Requests and tool calls that were answered with an error, by its code.",
        unit: "reqps",
        isStacked: true,
        queries: [[`sum by (code) (${rate("returns_request_errors_total")})`, "{{code}}"]],
      },
      {
        title: "Failed requests of the API",
        description: "Share of requests and tool calls that ended with internal_error.",
        unit: "percentunit",
        rule: "ReturnsErrors",
        queries: [
          [
            `sum(${rate("returns_request_errors_total", `${OWN}, code="internal_error"`)}) / sum(${rate(`${REQUESTS}_count`, API)})`,
            "failed",
          ],
        ],
      },
      {
        title: "Duration of API requests",
        description: "The red line is the threshold of p95.",
        unit: "s",
        rule: "ReturnsSlow",
        queries: durations(REQUESTS, API),
      },
    ],
  },
  {
    title: "Admission and quota",
    panels: [
      {
        title: "Wait for admission",
        description: "Time until a request is admitted. The red line is the threshold of p95.",
        unit: "s",
        rule: "ReturnsAdmissionSlow",
        queries: durations("returns_admission_wait_seconds"),
      },
      {
        title: "Refused with rate_limited",
        description: "Because of the daily quota, or too many concurrent requests of a workspace.",
        unit: "reqps",
        queries: [
          [`sum(${rate("returns_quota_refusals_total")})`, "daily quota"],
          [
            `sum(${rate("returns_request_errors_total", `${OWN}, code="rate_limited"`)}) - sum(${rate("returns_quota_refusals_total")})`,
            "no turn in time",
          ],
        ],
      },
      {
        title: "Refused callers",
        description: "Share of requests refused for their token, billing, plan or scope.",
        unit: "percentunit",
        rule: "ReturnsCallersRefused",
        queries: [
          [
            `sum by (code) (${rate("returns_request_errors_total", `${OWN}, code=~"unauthorized|forbidden"`)}) / ignoring(code) group_left sum(${rate(`${REQUESTS}_count`, API)})`,
            "{{code}}",
          ],
        ],
      },
      {
        title: "Refused webhooks",
        description: "Deliveries of the store platform that were refused, by status.",
        unit: "reqps",
        queries: [[`sum by (status) (${rate("returns_webhooks_refused_total")})`, "{{status}}"]],
      },
    ],
  },
  {
    title: "Database and pools",
    panels: [
      {
        title: "Database",
        description: "1 when the database answers a server.",
        unit: "short",
        queries: [[`returns_database_up{${OWN}}`, "{{instance}}"]],
      },
      {
        title: "Use of pools",
        description: "Connections in use, as a share of the pool's limit.",
        unit: "percentunit",
        rule: "ReturnsPoolFull",
        queries: [
          [
            `max by (pool) (sum without (state) (returns_database_pool_connections{${OWN}, state="used"}) / returns_database_pool_limit{${OWN}})`,
            "{{pool}}",
          ],
        ],
      },
      {
        title: "Waits for a connection",
        description: "Statements per second that had to wait, and statements waiting now.",
        unit: "short",
        queries: [
          [`sum by (pool) (${rate("returns_database_pool_waits_total")})`, "{{pool}} per second"],
          [`sum by (pool) (returns_database_pool_waiting{${OWN}})`, "{{pool}} now"],
        ],
      },
      {
        title: "Schema and metrics",
        description: "Missing migrations, and groups of metrics that cannot be read.",
        unit: "short",
        queries: [
          [
            `max by (instance) (returns_schema_level_wanted{${OWN}} - returns_schema_level{${OWN}})`,
            "missing at {{instance}}",
          ],
          [`sum by (group) (returns_metrics_unavailable{${OWN}})`, "cannot read {{group}}"],
        ],
      },
    ],
  },
  {
    title: "Syncs",
    panels: [
      {
        title: "Newest successful sync",
        description:
          "How long ago any source of a kind was synced. The red line is the threshold for stores.",
        unit: "s",
        rule: "ReturnsStoresLate",
        queries: [[same("returns_sync_age_seconds", "source_kind"), "{{source_kind}}"]],
      },
      {
        title: "Oldest due run",
        description: "How long it has waited for a worker.",
        unit: "s",
        rule: "ReturnsRunsDue",
        queries: [[same("returns_sync_due_age_seconds", "source_kind"), "{{source_kind}}"]],
      },
      {
        title: "Due runs and workers",
        description: "Due runs that have not started, and connected workers.",
        unit: "short",
        queries: [
          [same("returns_sync_runs_due", "source_kind"), "due: {{source_kind}}"],
          [same("returns_workers"), "workers"],
        ],
      },
      {
        title: "Sources and failures",
        description:
          "Connected sources by the status of their last run, and runs that failed within 24 hours.",
        unit: "short",
        queries: [
          [same("returns_connections", "source_kind", "status"), "{{source_kind}} {{status}}"],
          [same("returns_sync_runs_failed", "source_kind"), "failed runs: {{source_kind}}"],
        ],
      },
    ],
  },
  {
    title: "Deliveries",
    panels: [
      {
        title: "Alerts to be delivered",
        description: "Due and not delivered yet.",
        unit: "short",
        queries: [[same("returns_alert_deliveries_pending", "endpoint_kind"), "{{endpoint_kind}}"]],
      },
      {
        title: "Oldest undelivered alert",
        description: "How long the oldest alert that is due has not been delivered.",
        unit: "s",
        rule: "ReturnsDeliveriesLate",
        queries: [[same("returns_alert_delivery_age_seconds", "endpoint_kind"), "{{endpoint_kind}}"]],
      },
      {
        title: "Paused endpoints",
        description: "Endpoints that are paused because their deliveries failed.",
        unit: "short",
        queries: [[same("returns_alert_endpoints_paused", "endpoint_kind"), "{{endpoint_kind}}"]],
      },
    ],
  },
  {
    title: "Schedule and backup",
    panels: [
      {
        title: "Late tasks",
        description: "How late each task of the schedule is.",
        unit: "s",
        rule: "ReturnsTasksLate",
        queries: [[same("returns_task_late_seconds", "task"), "{{task}}"]],
      },
      {
        title: "Newest backup",
        description: "Its age. Empty if there is no backup.",
        unit: "s",
        rule: "ReturnsBackupOld",
        queries: [[same("returns_backup_age_seconds"), "backup"]],
      },
    ],
  },
  {
    title: "Process",
    panels: [
      {
        title: "CPU",
        description: "CPU cores in use.",
        unit: "short",
        queries: [[rate("process_cpu_seconds_total"), "{{instance}}"]],
      },
      {
        title: "Memory",
        description: "Resident memory, and the used heap within it.",
        unit: "bytes",
        queries: [
          [`process_resident_memory_bytes{${OWN}}`, "{{instance}}"],
          [`nodejs_heap_size_used_bytes{${OWN}}`, "{{instance}} heap"],
        ],
      },
      {
        title: "Event loop",
        description: "Event loop lag (p99).",
        unit: "s",
        rule: "ReturnsEventLoopSlow",
        queries: [[`nodejs_eventloop_lag_p99_seconds{${OWN}}`, "{{instance}}"]],
      },
      {
        title: "Uptime",
        description: "Time since each process started, and its version.",
        unit: "s",
        queries: [
          [
            `(time() - process_start_time_seconds{${OWN}}) * on (job, instance) group_left (version) returns_info{${OWN}}`,
            "{{instance}} {{version}}",
          ],
        ],
      },
    ],
  },
];

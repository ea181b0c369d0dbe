import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { body, pageEcho } from "./meta.ts";
import { cursorParameter, fieldsParameter, limitParameter } from "./parameters.ts";
import { closed, orNull, spare, text } from "./schema.ts";

/** The page of a workspace that shows an alert's subject, with its query. `path` is below the workspace; "" = its overview. */
export type AlertView = { path: "" | "/report"; parameters: Readonly<Record<string, string>> };

type Metadata = Readonly<Record<string, unknown>>;

const SELECTOR_NAMES = ["sku", "product_gid", "product_group_type", "product_group_key"];

/** Where an alert leads, in its link_url and on pages; null for one of a category that this service does not write. */
export function alertView({
  category,
  metadata,
}: {
  category: string;
  metadata?: Metadata | null;
}): AlertView | null {
  if (category === "connection_stale" || category === "backfill_completed")
    return { path: "", parameters: {} };
  const parameters = reportParameters(category, metadata ?? {});
  return parameters === null ? null : { path: "/report", parameters };
}

/** The report whose figures an alert names; null = the alert names none. */
function reportParameters(category: string, metadata: Metadata): Record<string, string> | null {
  if (category === "report_ready") return monthsOf(metadata["cohort_month"], metadata["cohort_month"]);
  if (category !== "return_rate_watchlist") return null;
  const isEarly = metadata["kind"] === "early_warning";
  const isEnded = metadata["kind"] === "ended";
  const months = isEarly
    ? monthsOf(metadata["ordered_from"], metadata["ordered_to"])
    : isEnded
      ? monthsOf(metadata["started_on"], metadata["ended_on"])
      : monthsOf(metadata["cohort_month"], metadata["cohort_month"]);
  if (months === null) return null;
  const selector = SELECTOR_NAMES.flatMap((name): [string, string][] => {
    const value = metadata[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  // They are about orders whose window is still open.
  const young = {
    ...(isEarly || isEnded ? { include_incomplete: "true" } : {}),
    ...(isEarly ? { reportSection: "reasons" } : {}),
  };
  return { ...Object.fromEntries(selector), ...months, ...young };
}

/** Months of a range between two months or days, both included in a report. */
function monthsOf(from: unknown, to: unknown): { start_month: string; end_month: string } | null {
  if (typeof from !== "string" || typeof to !== "string") return null;
  return { start_month: from.slice(0, 7), end_month: to.slice(0, 7) };
}

const alert = closed(
  {
    id: text("Id of the alert."),
    category: text(
      "What happened: return_rate_watchlist, backfill_completed, connection_stale or report_ready.",
    ),
    severity: Type.Enum(["info", "warning", "critical"], { description: "How much it matters." }),
    title: text("One line."),
    ...spare({
      body: orNull(text("A few sentences.")),
      link_url: orNull(text("Where to look further.")),
      link_label: orNull(text("What the link is called.")),
      metadata: orNull(
        Type.Record(Type.String(), Type.Unknown(), {
          description:
            "Facts of the alert, by its category; for a watchlist alert the selector, the month and its figures. Alerts of one " +
            "problem have the same episode_id and started_on; state is open, or ended in the alert that ends it (kind ended).",
        }),
      ),
    }),
    created_at: Type.String({ format: "date-time", description: "When it was written." }),
  },
  { component: "Alert" },
);

export const alerts = defineEndpoint({
  name: "alerts",
  path: "/api/v1/alerts",
  scope: "read:alerts",
  entitlements: ["api_access"],
  tag: "Alerts",
  summary: "Workspace alerts, newest first",
  description:
    "Poll with since, list open problems with state=open, or follow meta.next_cursor through older alerts.",
  parameters: Type.Object({
    since: Type.Optional(
      Type.String({ format: "date-time", description: "Earliest created_at to return, inclusive." }),
    ),
    category: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "return_rate_watchlist, backfill_completed, connection_stale or report_ready.",
        "x-allowed": "text of at most 100 characters without control characters",
        // REST answers an unknown one with an empty list, as the specification leaves categories open.
        "x-tool-enum": ["return_rate_watchlist", "backfill_completed", "connection_stale", "report_ready"],
      }),
    ),
    state: Type.Optional(
      Type.Enum(["open", "ended"], {
        description:
          "open: the alerts of problems that continue, which is what is wrong right now. ended: those that say that a problem has ended.",
      }),
    ),
    ...limitParameter(100, 50),
    ...cursorParameter,
    ...fieldsParameter("all"),
  }),
  response: body(Type.Array(alert), {
    since: orNull(Type.String({ format: "date-time", description: "The requested floor." })),
    category: orNull(text("The requested category.")),
    state: orNull(text("The requested state.")),
    ...pageEcho(100),
  }),
  example: "since=2026-06-01T00:00:00Z&limit=2",
  tool: {
    name: "list_alerts",
    title: "List alerts",
    lines: [
      "Returns the workspace's alerts, newest first: early warnings and spikes of return rates and their end, finished imports, stale connections, ready reports.",
      "Is anything going wrong right now? state open: metadata.kind early_warning (recent orders) or month; the body says how many, why, and which report to request.",
      "Use it to see what changed; to look into one, take the selector in its metadata to get_report or get_timeseries.",
      "since is an inclusive floor on created_at (with Z or an offset). Default limit 50 (1 to 100); older ones follow meta.next_cursor. fields required: titles without bodies and metadata.",
      'Example: {"since": "2026-06-01T00:00:00Z", "state": "open"}',
    ],
  },
});

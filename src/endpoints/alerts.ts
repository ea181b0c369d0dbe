import { alertView, type alerts as contract } from "../contract/alerts.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import { listAlerts, type AlertPosition, type AlertRow } from "../store/queries/alerts.ts";
import type { EndpointCall } from "./call.ts";
import type { CursorCodec } from "./cursor.ts";

/** The workspace's broadcasts, newest first; those to one user are never read. */
export async function alerts(
  { cursors, consoleAddress }: { cursors: CursorCodec; consoleAddress: string | null },
  call: EndpointCall<typeof contract>,
): Promise<Answer> {
  const { database, workspace, input } = call;
  const { since = null, category = null, state = null, limit = 50 } = input;
  const binding = {
    workspace,
    endpoint: "alerts",
    filters: state === null ? [since, category] : [since, category, state],
  };
  const position =
    input.cursor === undefined ? null : (cursors.decode(binding, input.cursor) as unknown as AlertPosition);

  const found = await listAlerts(database, workspace, { since, category, state }, position, limit + 1);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return jsonAnswer(
    rows.map((row) => feedAlert(row, { consoleAddress, shopDomain: workspace.shopDomain })),
    {
      since,
      category,
      state,
      limit,
      returned: rows.length,
      next_cursor: last === undefined ? null : cursors.encode(binding, [last.position, last.alert_id]),
    },
  );
}

/** Where links of alerts lead; `consoleAddress` null = there is no console that others reach. */
type AlertPlace = { consoleAddress: string | null; shopDomain: string };

/** An alert as in the API and in webhooks: one place, so that their JSON is equal. */
export type FeedAlert = ReturnType<typeof feedAlert>;

/** An alert stored without a link gets that of the console's page. */
export function feedAlert(row: AlertRow, place: AlertPlace) {
  const link = linkOf(row, place);
  return {
    id: row.alert_id,
    category: row.category,
    severity: row.severity,
    title: row.title,
    body: row.body,
    link_url: link?.url ?? null,
    link_label: link?.label ?? null,
    metadata: row.metadata,
    created_at: row.created_at.toISOString(),
  };
}

function linkOf(row: AlertRow, { consoleAddress, shopDomain }: AlertPlace): AlertLink | null {
  const { link_url: url, link_label: label } = row;
  if (url !== null || consoleAddress === null) return { url, label };
  return alertLink(row, { consoleAddress, shopDomain });
}

/** An alert's link and its label. */
type AlertLink = { url: string | null; label: string | null };

/**
 * The page of the console for an alert's subject; null for a category that this service does not write. `consoleAddress` is the
 * console's origin.
 */
export function alertLink(
  alert: Pick<AlertRow, "category" | "metadata">,
  { consoleAddress, shopDomain }: { consoleAddress: string; shopDomain: string },
): AlertLink | null {
  const view = alertView(alert);
  if (view === null) return null;
  const workspace = `${consoleAddress}/w/${encodeURIComponent(shopDomain)}`;
  if (view.path === "") return { url: workspace, label: "Open the overview" };
  const query = new URLSearchParams(view.parameters).toString();
  return { url: `${workspace}${view.path}?${query}`, label: "Open the report" };
}

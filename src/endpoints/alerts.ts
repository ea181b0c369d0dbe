import { alertView, type alerts as contract } from "../contract/alerts.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import { listAlerts, type AlertPosition, type AlertRow } from "../store/queries/alerts.ts";
import type { EndpointCall } from "./call.ts";
import { pageOf, type CursorCodec } from "./cursor.ts";

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
  const positionOf = (row: AlertRow) => [row.position, row.alert_id];
  const { rows, echo } = pageOf(found, limit, { cursors, binding, positionOf });
  const place = { consoleAddress, shopDomain: workspace.shopDomain };
  return jsonAnswer(
    rows.map((row) => feedAlert(row, place)),
    { since, category, state, ...echo },
  );
}

/** Where links of alerts lead; `consoleAddress` null = there is no console that others reach. */
type AlertPlace = { consoleAddress: string | null; shopDomain: string };

/** An alert as in the API and in webhooks: one place, so that their JSON is equal. */
export type FeedAlert = ReturnType<typeof feedAlert>;

/** An alert stored without a link gets that of the console's page. */
export function feedAlert(row: AlertRow, { consoleAddress, shopDomain }: AlertPlace) {
  const { link_url: url, link_label: label } = row;
  const isOwn = url !== null || consoleAddress === null;
  const link = isOwn ? { url, label } : alertLink(row, { consoleAddress, shopDomain });
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

/**
 * The page of the console for an alert's subject; null for a category that this service does not write. `consoleAddress` is the
 * console's origin.
 */
export function alertLink(
  alert: Pick<AlertRow, "category" | "metadata">,
  { consoleAddress, shopDomain }: { consoleAddress: string; shopDomain: string },
): { url: string; label: string } | null {
  const view = alertView(alert);
  if (view === null) return null;
  const workspace = `${consoleAddress}/w/${encodeURIComponent(shopDomain)}`;
  if (view.path === "") return { url: workspace, label: "Open the overview" };
  const query = new URLSearchParams(view.parameters).toString();
  return { url: `${workspace}${view.path}?${query}`, label: "Open the report" };
}

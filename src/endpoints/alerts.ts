import type { alerts as contract } from "../contract/alerts.ts";
import { listAlerts } from "../store/queries/alerts.ts";
import type { AlertPosition, AlertRow } from "../store/queries/alerts.ts";
import type { Answer } from "../contract/call.ts";
import { alertLink } from "./alert-link.ts";
import type { AlertLink } from "./alert-link.ts";
import type { Call } from "./call.ts";
import type { CursorCodec } from "./cursor.ts";

/**
 * The workspace's broadcasts, newest first; those to one user are never read. An alert that was stored without a link gets
 * that of the console's page, when there is a console that others reach.
 */
export async function alerts(
  { cursors, consoleAddress }: { cursors: CursorCodec; consoleAddress: string | null },
  call: Call<typeof contract>,
): Promise<Answer> {
  const { database, workspace, input } = call;
  const { since = null, category = null, limit = 50 } = input;
  const binding = { workspace, endpoint: "alerts", filters: [since, category] };
  const position =
    input.cursor === undefined ? null : (cursors.decode(binding, input.cursor) as unknown as AlertPosition);

  const found = await listAlerts(database, workspace, { since, category }, position, limit + 1);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return {
    kind: "json",
    body: {
      data: rows.map((row) => presentAlert(row, linkOf(row, consoleAddress, workspace.shopDomain))),
      meta: {
        since,
        category,
        limit,
        returned: rows.length,
        next_cursor: last === undefined ? null : cursors.encode(binding, [last.position, last.alert_id]),
      },
    },
  };
}

function linkOf(row: AlertRow, consoleAddress: string | null, shopDomain: string): AlertLink | null {
  const { link_url: url, link_label: label } = row;
  if (url !== null || consoleAddress === null) return { url, label };
  return alertLink(row, { consoleAddress, shopDomain });
}

function presentAlert(row: AlertRow, link: AlertLink | null) {
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

import type { alerts as contract } from "../contract/alerts.ts";
import { listAlerts } from "../store/queries/alerts.ts";
import type { AlertPosition } from "../store/queries/alerts.ts";
import { jsonAnswer } from "../contract/endpoint.ts";
import type { Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import type { CursorCodec } from "./cursor.ts";
import { feedAlert } from "./feed-alert.ts";

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

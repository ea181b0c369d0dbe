import { query } from "../query.ts";
import type { Workspace } from "../workspace.ts";

/** One broadcast to the workspace; position is created_at at full precision, for the cursor. */
export type AlertRow = {
  alert_id: string;
  category: string;
  severity: string;
  title: string;
  body: string | null;
  link_url: string | null;
  link_label: string | null;
  metadata: Record<string, unknown> | null;
  created_at: Date;
  position: string;
};

export type AlertFilter = { since: string | null; category: string | null };

/** created_at and alert_id of the last row of the page before. */
export type AlertPosition = readonly [string, string];

/** Up to `limit` alerts before `position`, newest first: a range scan of alert_feed. */
export const listAlerts = query<
  AlertRow,
  [workspace: Workspace, filter: AlertFilter, position: AlertPosition | null, limit: number]
>(
  "list_alerts",
  `select alert_id, category, severity, title, body, link_url, link_label, metadata, created_at,
                created_at::text as position
           from alert
          where shop_key = $1 and recipient is null
            and ($2::timestamptz is null or created_at >= $2) and ($3::text is null or category = $3)
            and ($4::timestamptz is null or (created_at, alert_id) < ($4, $5))
          order by created_at desc, alert_id desc
          limit $6`,
  (workspace, filter, position, limit) => [
    workspace.shopKey,
    filter.since,
    filter.category,
    position?.[0] ?? null,
    position?.[1] ?? null,
    limit,
  ],
);

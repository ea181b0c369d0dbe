import { query } from "../query.ts";
import type { Workspace } from "../workspace.ts";

/** An alert of an episode that has not ended; days are YYYY-MM-DD, `cohort_month` (YYYY-MM) is that of a spike. */
export type OpenEpisodeRow = {
  episode_id: string;
  kind: string;
  title: string;
  started_on: string;
  cohort_month: string | null;
  /** Parameters of every endpoint that takes a selector. */
  selector: Record<string, string>;
};

/** Whether an alert `a` belongs to an episode that has not ended: it has the state, and no alert ends it. Unique event_key. */
const IS_OPEN = `a.metadata ->> 'state' = 'open'
    and not exists (select 1 from alert e where e.shop_key = $1 and e.event_key = 'ended:' || (a.metadata ->> 'episode_id'))`;

/** One row per alert, the first of an episode first: a range of alert_feed. */
export const listOpenEpisodes = query<OpenEpisodeRow, [shopKey: number]>(
  "list_open_episodes",
  `select a.metadata ->> 'episode_id' as episode_id, a.metadata ->> 'kind' as kind, a.title,
          a.metadata ->> 'started_on' as started_on, a.metadata ->> 'cohort_month' as cohort_month,
          jsonb_strip_nulls(jsonb_build_object(
            'sku', a.metadata -> 'sku', 'product_gid', a.metadata -> 'product_gid',
            'product_group_type', a.metadata -> 'product_group_type',
            'product_group_key', a.metadata -> 'product_group_key')) as selector
     from alert a
    where a.shop_key = $1 and a.recipient is null and ${IS_OPEN}
    order by a.created_at, a.alert_id`,
);

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

/** `state`: open = of episodes that go on; ended = what ended one. */
type AlertFilter = { since: string | null; category: string | null; state: "open" | "ended" | null };

/** created_at and alert_id of the last row of the page before. */
export type AlertPosition = readonly [string, string];

/** Up to `limit` alerts before `position`, newest first: a range scan of alert_feed. */
export const listAlerts = query<
  AlertRow,
  [workspace: Workspace, filter: AlertFilter, position: AlertPosition | null, limit: number]
>(
  "list_alerts",
  `select a.alert_id, a.category, a.severity, a.title, a.body, a.link_url, a.link_label, a.metadata, a.created_at,
                a.created_at::text as position
           from alert a
          where a.shop_key = $1 and a.recipient is null
            and ($2::timestamptz is null or a.created_at >= $2) and ($3::text is null or a.category = $3)
            and ($4::timestamptz is null or (a.created_at, a.alert_id) < ($4, $5))
            and ($7::text is null or a.metadata ->> 'state' = $7 and ($7 <> 'open' or ${IS_OPEN}))
          order by a.created_at desc, a.alert_id desc
          limit $6`,
  (workspace, filter, position, limit) => [
    workspace.shopKey,
    filter.since,
    filter.category,
    position?.[0] ?? null,
    position?.[1] ?? null,
    limit,
    filter.state,
  ],
);

import { query } from "../query.ts";

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
export const IS_OPEN = `a.metadata ->> 'state' = 'open'
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

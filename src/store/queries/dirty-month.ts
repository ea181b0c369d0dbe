import type { Connection } from "../database.ts";
import { command, queryAny, queryColumn, requireValue } from "../query.ts";

/** Also those without sums over orders or money by day, rolled up by a concurrent earlier version. */
const DIRTY_MONTHS = `select cohort_month from dirty_cohort where shop_key = $1
         union
         select cohort_month from cohort where shop_key = $1 and entity_kind = 'workspace'
          and (orders is null or has_day_money is null)`;

/** First days of the months to roll up, YYYY-MM-DD, oldest first. */
export const listDirtyMonths = queryColumn<string, [shopKey: number], Connection>(
  "list_dirty_months",
  `${DIRTY_MONTHS} order by cohort_month`,
);

/** Whether a run has anything to apply: what its source has sent, or months that wait since a migration. Primary keys. */
export const hasWork = requireValue<boolean, [shopKey: number, source: string], Connection>(
  "has_work",
  `select exists (select from sync_record r where r.shop_key = $1 and r.source = $2)
             or exists (${DIRTY_MONTHS}) as has_work
           from workspace w where w.shop_key = $1`,
);

/** Marks months (first days) to be rolled up. Primary key of dirty_cohort. */
export const markMonths = command<[shopKey: number, months: readonly string[]], Connection>(
  "mark_months",
  `insert into dirty_cohort (shop_key, cohort_month)
         select w.shop_key, m.cohort_month from workspace w cross join unnest($2::date[]) m (cohort_month)
          where w.shop_key = $1
         on conflict do nothing`,
);

/** Every workspace with facts to project or months to roll up: a scan over all workspaces, for the end of a migration. */
export const listWorkspacesToRebuild = queryColumn<number>(
  "list_workspaces_to_rebuild",
  `select shop_key from dirty_cohort union select shop_key from workspace where needs_projection order by shop_key`,
);

/** Whether a migration requires a workspace's facts to be recomputed. Primary key of workspace. */
export const needsProjection = queryAny<[shopKey: number], Connection>(
  "needs_projection",
  "select 1 as is_there from workspace where shop_key = $1 and needs_projection",
);

/** The facts of a workspace are of this version. Primary key of workspace. */
export const keepProjected = command<[shopKey: number], Connection>(
  "keep_projected",
  "update workspace set needs_projection = false where shop_key = $1 and needs_projection",
);

/** Forgets that months (first days) have to be rolled up. Primary key of dirty_cohort. */
export const clearDirtyMonths = command<[shopKey: number, months: readonly string[]], Connection>(
  "clear_dirty_months",
  "delete from dirty_cohort where shop_key = $1 and cohort_month = any($2::date[])",
);

/** First days of all months that hold lines or cohort rows, oldest first. Index order_line_by_month. */
export const listCohortMonths = queryColumn<string, [shopKey: number], Connection>(
  "list_cohort_months",
  // One step of an index per month: listing the lines themselves would read them all.
  `with recursive month (cohort_month) as (
           select min(cohort_month) from order_line where shop_key = $1
           union all
           select (select min(l.cohort_month) from order_line l where l.shop_key = $1 and l.cohort_month > m.cohort_month)
             from month m where m.cohort_month is not null
         )
         select cohort_month from month where cohort_month is not null
         union select cohort_month from cohort where shop_key = $1 and entity_kind = 'workspace'
         order by cohort_month`,
);

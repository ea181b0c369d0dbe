import { defineStatement } from "../database.ts";
import type { Connection, Queryable } from "../database.ts";
import {
  COHORT_WINDOWS,
  EVERY_ENTITY,
  FIXED_MEASURES,
  LISTED_ENTITIES,
  MEASURES,
  MONTH_FACTS,
  RETURNED_MONTH_FACTS,
  WINDOW_MEASURES,
  dayReturned,
  entityDayColumns,
  entityDays,
  entityMeasures,
  entityReturns,
  measuresByWindow,
} from "./cohort-facts.ts";
import type { CohortWindow } from "./cohort-facts.ts";

const ENTITY_KINDS = "('sku', 'product', 'product_used', 'family', 'analytics_category', 'workspace')";
const RETURN_ARRAYS = [
  "return_reasons",
  "return_lag_days",
  "return_units",
  "request_states",
  "request_units",
];
const DAY_ARRAYS = ["sold_days", "day_sold_units", "day_returned_units"];
const ofLifetime = (column: string) =>
  `case w.observation_window when 'lifetime' then m.${column} end as ${column}`;

type OrderRange = { first_order_id: string | null; last_order_id: string | null };

const FIND_ORDER_RANGE = defineStatement({
  name: "find_order_range",
  // Without the fence the planner walks the primary key from its ends, past every other month.
  text: `select min(l.order_id) as first_order_id, max(l.order_id) as last_order_id
           from (select order_id from order_line where shop_key = $1 and cohort_month = $2 offset 0) l`,
});

/** The smallest and largest order id of a cohort month's lines; null when it has none. Index order_line_by_month. */
async function findOrderRange(connection: Connection, shopKey: number, month: string): Promise<OrderRange> {
  const [row] = await connection.rows<OrderRange>(FIND_ORDER_RANGE, [shopKey, month]);
  return row ?? { first_order_id: null, last_order_id: null };
}

const PUT_COHORTS = defineStatement({
  name: "put_cohorts",
  text: putCohorts({
    windows: COHORT_WINDOWS,
    columns: [...MEASURES, ...RETURN_ARRAYS, ...DAY_ARRAYS],
    isOld: `$5::text[] is null or entity_kind in ('family', 'analytics_category', 'workspace')
        or entity_kind = 'sku' and entity_key = any($5::text[])
        or entity_kind in ('product', 'product_used') and entity_key = any($6::text[])`,
    fresh: `${MONTH_FACTS}, ${entityMeasures(COHORT_WINDOWS, LISTED_ENTITIES)}, ${entityReturns(LISTED_ENTITIES)}, ${entityDays(COHORT_WINDOWS)}, entity as (
    select m.*, ${RETURN_ARRAYS.join(", ")}, ${entityDayColumns(COHORT_WINDOWS, "d")}
      from entity_measure m
      left join entity_day d on d.kind = m.kind and d.key = m.key
      left join entity_return r on r.kind = m.kind and r.key = m.key
      left join entity_request q on q.kind = m.kind and q.key = m.key
  ), fresh as (
    select m.kind collate "C" as entity_kind, m.key as entity_key, w.observation_window collate "C" as observation_window,
           ${MEASURES.map((measure) => `w.${measure}`).join(", ")}, ${RETURN_ARRAYS.map(ofLifetime).join(", ")},
           m.sold_days, m.day_sold_units, ${dayReturned(COHORT_WINDOWS)} as day_returned_units
      from entity m cross join lateral ${measuresByWindow(COHORT_WINDOWS)}
  )`,
  }),
});

const IS_LIFETIME = "c.shop_key = $1 and c.observation_window = 'lifetime' and c.cohort_month = $2";

// What was sold is the same in every window: it is taken from the lifetime rows, and only what came back is read.
const PUT_PRIMARY_COHORTS = defineStatement({
  name: "put_primary_cohorts",
  text: putCohorts({
    windows: ["primary"],
    columns: [...MEASURES, ...DAY_ARRAYS],
    isOld: "true",
    fresh: `${RETURNED_MONTH_FACTS}, ${entityMeasures(["primary"], EVERY_ENTITY)}, ${entityDays(["primary"])}, group_day as (
    select c.entity_kind, c.entity_key,
           array_agg(coalesce(r.returned_units, 0) order by s.sold_on) as day_returned_units
      from cohort c
     cross join lateral unnest(c.sold_days) s (sold_on)
      left join (
        select d.kind, d.key, u.sold_on, u.returned_units
          from entity_day d cross join lateral unnest(d.sold_days, d.returned_primary) u (sold_on, returned_units)
      ) r on r.kind = c.entity_kind and r.key = c.entity_key and r.sold_on = s.sold_on
     where ${IS_LIFETIME} and c.entity_kind in ('family', 'analytics_category', 'workspace')
     group by c.entity_kind, c.entity_key
  ), fresh as (
    select c.entity_kind, c.entity_key, 'primary' collate "C" as observation_window,
           ${FIXED_MEASURES.map((measure) => `c.${measure}`).join(", ")},
           ${WINDOW_MEASURES.map((measure) => `coalesce(m.${measure}_primary, 0) as ${measure}`).join(", ")},
           c.sold_days, c.day_sold_units, d.day_returned_units
      from cohort c
      left join entity_measure m on m.kind = c.entity_kind and m.key = c.entity_key
      left join group_day d on d.entity_kind = c.entity_kind and d.entity_key = c.entity_key
     where ${IS_LIFETIME} and c.entity_kind in ${ENTITY_KINDS}
  )`,
  }),
});

/** A row that was new or different; without sold units it is to be removed by `removeEmptyCohorts`. */
export type ChangedCohort = { entity_kind: string; entity_key: string; sold_units: number };

/**
 * Brings the cohort rows of a month to what the facts say (M1–M4, M7–M11, M13, M15), those of the touched SKUs and
 * products (null = all) and of all groups: rows that are right stay untouched, rows of entities that sold nothing become
 * zeros. order_line_by_month, ranges of the primary keys of the other facts, cohort_leaderboard.
 */
export async function putMonthCohorts(
  connection: Connection,
  shopKey: number,
  month: string,
  touched: TouchedEntities | null,
): Promise<ChangedCohort[]> {
  const range = await findOrderRange(connection, shopKey, month);
  const lists = touched === null ? [null, null] : [touched.skus, touched.product_gids];
  return connection.rows(PUT_COHORTS, [shopKey, month, range.first_order_id, range.last_order_id, ...lists]);
}

/** The same of the primary window alone, and of every entity (M4). */
export async function putPrimaryCohorts(
  connection: Connection,
  shopKey: number,
  month: string,
): Promise<ChangedCohort[]> {
  const range = await findOrderRange(connection, shopKey, month);
  return connection.rows(PUT_PRIMARY_COHORTS, [shopKey, month, range.first_order_id, range.last_order_id]);
}

type CohortSource = {
  windows: readonly CohortWindow[];
  columns: readonly string[];
  /** Which stored rows are compared with the fresh ones. */
  isOld: string;
  fresh: string;
};

/**
 * Rows in the order that leaves side by side what a leaderboard reads together. The key comes from `workspace`, and the
 * whole query belongs to the select: so Citus runs all of it on the node of the shop. The left join reads it once, where
 * a plain one might look it up again for every row.
 */
function putCohorts({ windows, columns, isOld, fresh }: CohortSource): string {
  const key = ["entity_kind", "entity_key", "observation_window"];
  const listOf = (row: string) => columns.map((column) => `${row}.${column}`).join(", ");
  const value = (column: string) => (MEASURES.includes(column) ? `coalesce(f.${column}, 0)` : `f.${column}`);
  return `insert into cohort (shop_key, cohort_month, ${[...key, ...columns].join(", ")})
  with ${fresh}, old as (
    select ${[...key, ...columns].join(", ")}
      from cohort
     where shop_key = $1 and entity_kind in ${ENTITY_KINDS} and cohort_month = $2
       and observation_window in (${windows.map((window) => `'${window}'`).join(", ")}) and (${isOld})
  )
  select w.shop_key, $2, ${key.map((column) => `coalesce(f.${column}, o.${column})`).join(", ")}, ${columns.map(value).join(", ")}
    from workspace w
    left join (fresh f full join old o on ${key.map((column) => `o.${column} = f.${column}`).join(" and ")}) on true
   where w.shop_key = $1 and (${listOf("f")}) is distinct from (${listOf("o")})
   order by 3, 5, 4
  on conflict (shop_key, entity_kind, entity_key, observation_window, cohort_month) do update
     set ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}
  returning entity_kind, entity_key, sold_units`;
}

/** SKUs and products whose facts a run changed, moved or removed; what they belong to now and belonged to before. */
export type TouchedEntities = { skus: string[]; product_gids: string[] };

const LOAD_TOUCHED_ENTITIES = defineStatement({
  name: "load_touched_entities",
  text: `select array(select sku from touched_sku limit $1) as skus,
                array(select product_gid from touched_product limit $1) as product_gids`,
});

/** What the run has touched; null = more than `most` SKUs or products. */
export async function loadTouchedEntities(
  connection: Connection,
  most: number,
): Promise<TouchedEntities | null> {
  const [row] = await connection.rows<TouchedEntities>(LOAD_TOUCHED_ENTITIES, [most + 1]);
  const touched = row as TouchedEntities;
  return touched.skus.length > most || touched.product_gids.length > most ? null : touched;
}

const REMOVE_EMPTY_COHORTS = defineStatement({
  name: "remove_empty_cohorts",
  text: `delete from cohort
          where shop_key = $1 and entity_kind in ${ENTITY_KINDS} and cohort_month = any($2::date[])
            and observation_window = any($3::text[]) and sold_units = 0`,
});

/** Removes the rows of months that hold nothing. Index cohort_leaderboard. */
export async function removeEmptyCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await connection.rows(REMOVE_EMPTY_COHORTS, [shopKey, months, COHORT_WINDOWS]);
}

const LIST_DIRTY_MONTHS = defineStatement({
  name: "list_dirty_months",
  text: "select cohort_month from dirty_cohort where shop_key = $1 order by cohort_month",
});

/** First days of the months to make anew, YYYY-MM-DD, oldest first. */
export async function listDirtyMonths(connection: Connection, shopKey: number): Promise<string[]> {
  const rows = await connection.rows<{ cohort_month: string }>(LIST_DIRTY_MONTHS, [shopKey]);
  return rows.map((row) => row.cohort_month);
}

const LIST_SHOPS_TO_REBUILD = defineStatement({
  name: "list_shops_to_rebuild",
  text: "select distinct shop_key from dirty_cohort order by shop_key",
});

/** Every shop with months to make anew: a scan over all shops, for the end of a migration. */
export async function listShopsToRebuild(database: Queryable): Promise<number[]> {
  return (await database.rows<{ shop_key: number }>(LIST_SHOPS_TO_REBUILD, [])).map((row) => row.shop_key);
}

const CLEAR_DIRTY_MONTHS = defineStatement({
  name: "clear_dirty_months",
  text: "delete from dirty_cohort where shop_key = $1 and cohort_month = any($2::date[])",
});

/** Forgets that months (first days) have to be made anew. Primary key of dirty_cohort. */
export async function clearDirtyMonths(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await connection.rows(CLEAR_DIRTY_MONTHS, [shopKey, months]);
}

const LIST_COHORT_MONTHS = defineStatement({
  name: "list_cohort_months",
  // One step of an index per month: listing the lines themselves would read them all.
  text: `with recursive month (cohort_month) as (
           select min(cohort_month) from order_line where shop_key = $1
           union all
           select (select min(l.cohort_month) from order_line l where l.shop_key = $1 and l.cohort_month > m.cohort_month)
             from month m where m.cohort_month is not null
         )
         select cohort_month from month where cohort_month is not null
         union select cohort_month from cohort where shop_key = $1 and entity_kind = 'workspace'
         order by cohort_month`,
});

/** First days of all months that hold lines or cohort rows, oldest first. Index order_line_by_month. */
export async function listCohortMonths(connection: Connection, shopKey: number): Promise<string[]> {
  const rows = await connection.rows<{ cohort_month: string }>(LIST_COHORT_MONTHS, [shopKey]);
  return rows.map((row) => row.cohort_month);
}

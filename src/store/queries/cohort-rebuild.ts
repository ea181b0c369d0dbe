import { defineStatement } from "../database.ts";
import type { Connection, Queryable, Statement } from "../database.ts";
import {
  COHORT_WINDOWS,
  EVERY_ENTITY,
  LISTED_ENTITIES,
  MEASURES,
  MONTH_FACTS,
  WINDOW_MEASURES,
  dayReturned,
  entityDayColumns,
  entityDays,
  entityMeasures,
  entityReturns,
  groupDays,
  measuresByWindow,
  movedMonthFacts,
} from "./cohort-facts.ts";

const GROUP_KINDS = "('family', 'analytics_category', 'vendor', 'workspace')";
const ENTITY_KINDS = `('sku', 'product', 'product_used', ${GROUP_KINDS.slice(1)}`;
const RETURN_ARRAYS = [
  "return_reasons",
  "return_lag_days",
  "return_units",
  "request_states",
  "request_units",
];
const DAY_ARRAYS = ["sold_days", "day_sold_units", "day_returned_units"];
const listOf = (row: string, columns: readonly string[]) =>
  columns.map((column) => `${row}.${column}`).join(", ");
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

const COHORT_KEY = ["entity_kind", "entity_key", "observation_window", "listing_id"];
const COHORT_COLUMNS = [...MEASURES, ...RETURN_ARRAYS, ...DAY_ARRAYS];
const freshOrNone = (column: string) =>
  MEASURES.includes(column) ? `coalesce(f.${column}, 0)` : `f.${column}`;

const PUT_COHORTS = defineStatement({
  name: "put_cohorts",
  // Rows in the order that leaves side by side what a leaderboard reads together. The key comes from `workspace`, and
  // the whole query belongs to the select: so Citus runs all of it on the node of the shop. The left join reads it once,
  // where a plain one might look it up again for every row.
  text: `insert into cohort (shop_key, cohort_month, ${[...COHORT_KEY, ...COHORT_COLUMNS].join(", ")})
  with ${MONTH_FACTS}, ${entityMeasures(COHORT_WINDOWS, LISTED_ENTITIES)}, ${entityReturns(LISTED_ENTITIES)}, ${entityDays(COHORT_WINDOWS)}, entity as (
    select m.*, ${RETURN_ARRAYS.join(", ")}, ${entityDayColumns(COHORT_WINDOWS, "d")}
      from entity_measure m
      left join entity_day d on d.kind = m.kind and d.key = m.key
      left join entity_return r on r.kind = m.kind and r.key = m.key and r.listing_id = m.listing_id
      left join entity_request q on q.kind = m.kind and q.key = m.key and q.listing_id = m.listing_id
  ), fresh as (
    select m.kind collate "C" as entity_kind, m.key as entity_key, w.observation_window collate "C" as observation_window, m.listing_id,
           ${MEASURES.map((measure) => `w.${measure}`).join(", ")}, ${RETURN_ARRAYS.map(ofLifetime).join(", ")},
           m.sold_days, m.day_sold_units, ${dayReturned(COHORT_WINDOWS)} as day_returned_units
      from entity m cross join lateral ${measuresByWindow(COHORT_WINDOWS)}
  ), old as (
    select ${[...COHORT_KEY, ...COHORT_COLUMNS].join(", ")}
      from cohort
     where shop_key = $1 and entity_kind in ${ENTITY_KINDS} and cohort_month = $2
       and observation_window in (${COHORT_WINDOWS.map((window) => `'${window}'`).join(", ")})
       and ($5::text[] is null or entity_kind in ${GROUP_KINDS}
            or entity_kind = 'sku' and (entity_key = '' or entity_key = any($5::text[]))
            or entity_kind in ('product', 'product_used') and entity_key = any($6::text[]))
  )
  select w.shop_key, $2, ${COHORT_KEY.map((column) => `coalesce(f.${column}, o.${column})`).join(", ")},
         ${COHORT_COLUMNS.map(freshOrNone).join(", ")}
    from workspace w
    left join (fresh f full join old o on ${COHORT_KEY.map((column) => `o.${column} = f.${column}`).join(" and ")}) on true
   where w.shop_key = $1 and (${listOf("f", COHORT_COLUMNS)}) is distinct from (${listOf("o", COHORT_COLUMNS)})
   order by 3, 5, 4, 6
  on conflict (shop_key, entity_kind, entity_key, observation_window, cohort_month, listing_id) do update
     set ${COHORT_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}
  returning entity_kind, entity_key, sold_units`,
});

/** The windows that every workspace has, and their days. */
const BASES = { "30d": 30, "90d": 90 } as const;
type Base = keyof typeof BASES;

const PUT_PRIMARY_COHORTS: Readonly<Record<Base, Statement>> = {
  "30d": putPrimaryCohortsFrom("30d"),
  "90d": putPrimaryCohortsFrom("90d"),
};

/**
 * What the rows of another window say, and to it what came back between its end and the primary window's: a part of the
 * facts. An entity has rows of all windows or of none, and what was sold is the same in all of them.
 */
function putPrimaryCohortsFrom(base: Base): Statement {
  const windows = [base, "primary"] as const;
  const columns = [...WINDOW_MEASURES, "day_returned_units"];
  const isBase = `c.shop_key = $1 and c.observation_window = '${base}' and c.cohort_month = $2`;
  const moved = (measure: string) =>
    `c.${measure} + coalesce(m.${measure}_primary - m.${measure}_${base}, 0) as ${measure}`;
  return defineStatement({
    name: `put_primary_cohorts_from_${base}`,
    text: `with ${movedMonthFacts(base)}, ${entityMeasures(windows, EVERY_ENTITY)}, ${groupDays(windows)}, group_day as (
    select c.entity_kind as kind, c.entity_key as key,
           array_agg(s.returned_units + coalesce(d.returned_primary - d.returned_${base}, 0) order by s.sold_on) as day_returned_units
      from cohort c
     cross join lateral unnest(c.sold_days, c.day_returned_units) s (sold_on, returned_units)
      left join day d on d.kind = c.entity_kind and d.key = c.entity_key and d.ordered_on = s.sold_on
     where ${isBase} and c.entity_kind in ${GROUP_KINDS}
     group by c.entity_kind, c.entity_key
  ), fresh as (
    select c.entity_kind, c.entity_key, c.listing_id, ${WINDOW_MEASURES.map(moved).join(", ")}, d.day_returned_units
      from cohort c
      left join entity_measure m on m.kind = c.entity_kind and m.key = c.entity_key and m.listing_id = c.listing_id
      left join group_day d on d.kind = c.entity_kind and d.key = c.entity_key
     where ${isBase} and c.entity_kind in ${ENTITY_KINDS}
  )
  update cohort p set ${columns.map((column) => `${column} = f.${column}`).join(", ")}
    from fresh f
   where p.shop_key = $1 and p.entity_kind = f.entity_kind and p.entity_key = f.entity_key
     and p.listing_id = f.listing_id and p.entity_kind in ${ENTITY_KINDS} and p.observation_window = 'primary' and p.cohort_month = $2
     and (${listOf("p", columns)}) is distinct from (${listOf("f", columns)})
  returning p.entity_kind, p.entity_key, p.sold_units`,
  });
}

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

/** The same of the primary window of so many days alone, and of every entity (M4); the other windows have to be right. */
export async function putPrimaryCohorts(
  connection: Connection,
  shopKey: number,
  month: string,
  primaryWindowDays: number,
): Promise<ChangedCohort[]> {
  const range = await findOrderRange(connection, shopKey, month);
  const base = primaryWindowDays <= (BASES["30d"] + BASES["90d"]) / 2 ? "30d" : "90d";
  return connection.rows(PUT_PRIMARY_COHORTS[base], [
    shopKey,
    month,
    range.first_order_id,
    range.last_order_id,
  ]);
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

/**
 * The return curve: `lag_days` of a row of cohort, sku_quarter or group_day, ascending, and measures at the same places,
 * each its sum up to that day. A window of n days is one element (M4).
 */

/** The columns that are curves; the others are the same in every window. */
const CURVES: ReadonlySet<string> = new Set([
  "returned_units",
  "refunded_units",
  "restocked_units",
  "restocked_cost_minor",
  "costed_returned_units",
  "refund_minor",
  "label_minor",
  "returned_not_refunded_units",
  "labeled_returned_units",
]);

/** More days than any return takes: the whole curve. */
export const ALL_DAYS = 2_147_483_647;

/** The days of a window as statements take them; null = lifetime. */
export function daysOrAll(windowDays: number | null): number {
  return windowDays ?? ALL_DAYS;
}

/**
 * The months from `first` to `last` (first days) one by one: cohort's primary key then finds an entity in each of them, where
 * a range would have it read every entity of those months.
 */
export function monthsBetween(first: string, last: string): string {
  return `any(array(select generate_series(${first}::timestamp, ${last}::timestamp, interval '1 month')::date))`;
}

/** A lateral row `inside` with the place of a window's last day in the curve of `row`; 0 or null where nothing came back. */
export function placeInside(row: string, days: string): string {
  return `(select width_bucket(${days}::integer, ${row}.lag_days) as place) inside`;
}

/** Columns of `row` inside the window of `placeInside`, under their own names. */
export function columnsInside(row: string, columns: readonly string[]): string {
  return columns
    .map((column) =>
      CURVES.has(column) ? `coalesce(${row}.${column}[inside.place], 0) as ${column}` : `${row}.${column}`,
    )
    .join(", ");
}

/**
 * Select of columns inside the window, and the squares of M6, of the day `soldOn` of the group, vendor or workspace `e`: a
 * look-up in group_day's primary key. For a lateral join; `offset 0` keeps the planner from flattening it.
 */
export function groupDayInside(columns: readonly string[], soldOn: string, days: string): string {
  return `select g.squared_sold_units, ${columnsInside("g", columns)}
       from group_day g cross join lateral ${placeInside("g", days)}
      where g.shop_key = $1 and g.sold_on = ${soldOn}
        and g.entity_kind = e.entity_kind and g.entity_key = e.entity_key
     offset 0`;
}

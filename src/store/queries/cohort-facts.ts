import { LINE_VENDOR, LISTING_ID, NO_LISTING } from "./listing.ts";

/** The observation windows of cohort, and the last lag that lies inside each; null = every lag (M4). */
const LAST_LAG_DAYS = {
  "30d": "30",
  "90d": "90",
  primary: "(select w.primary_window_days from workspace w where w.shop_key = $1)",
  lifetime: null,
} as const;

export type CohortWindow = keyof typeof LAST_LAG_DAYS;

export const COHORT_WINDOWS = Object.keys(LAST_LAG_DAYS) as CohortWindow[];

/** The additive columns of cohort that do not depend on the window, and those that do (M7). */
export const FIXED_MEASURES = ["sold_units", "costed_sold_units"];
export const WINDOW_MEASURES = [
  "returned_units",
  "refunded_units",
  "restocked_units",
  "restocked_cost_minor",
  "costed_returned_units",
  "refund_minor",
  "label_minor",
  "returned_not_refunded_units",
  "labeled_returned_units",
];

/** In the order of `measuresByWindow`. */
export const MEASURES = [...FIXED_MEASURES, ...WINDOW_MEASURES];

/** The groups of rows `m`, and the workspace: cohort's kinds and keys. */
const GROUPS = `(values ('family', m.family), ('analytics_category', m.analytics_category), ('vendor', m.vendor),
     ('workspace', ''))`;

/**
 * `line`: the lines of cohort month $2 that sold something and meet the condition, each with its place in the table:
 * grouping by a key of three texts takes several times as long. `event`, `fact`: what hangs on them. $3 and $4, the
 * first and last order id of the month, let the planner read a range of those tables where ids follow time.
 */
function monthFacts(condition: string): string {
  return `line as materialized (
    select l.ctid as line_place, l.order_id, l.line_id, l.ordered_on, l.sku, l.product_gid, l.used,
           l.sold_units, l.unit_cost_minor, p.family, p.analytics_category, ${LISTING_ID} as listing_id,
           coalesce(p.vendor, ${LINE_VENDOR}) as vendor
      from order_line l left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
     where l.shop_key = $1 and l.cohort_month = $2 and l.sold_units > 0 ${condition}
  ), event as materialized (
    select l.line_place, l.ordered_on, l.sku, l.listing_id, l.product_gid, l.used, l.family, l.analytics_category,
           l.vendor, e.reason, e.lag_days, e.returned_units, e.refunded_units, e.restocked_units, e.refund_minor
      from line l
      join return_event e on e.shop_key = $1 and e.order_id = l.order_id and e.line_id = l.line_id
       and e.order_id between $3 and $4
  ), fact as (
    select line_place, lag_days, returned_units, refunded_units, restocked_units, refund_minor,
           null::bigint as label_minor
      from event
    union all
    select l.line_place, s.lag_days, 0, 0, 0, 0, s.label_minor
      from line l
      join label_share s on s.shop_key = $1 and s.order_id = l.order_id and s.line_id = l.line_id
       and s.order_id between $3 and $4
  )`;
}

export const MONTH_FACTS = monthFacts("");

/**
 * The same of the lines alone of which something came back on the days by which the primary window and `base` differ:
 * what the two windows hold of all other lines is the same.
 */
export function movedMonthFacts(base: "30d" | "90d"): string {
  const [shorter, longer] = ["least", "greatest"].map(
    (pick) => `${pick}(${LAST_LAG_DAYS[base]}, ${LAST_LAG_DAYS.primary})`,
  );
  const isBetween = (row: string) => `${row}.lag_days > ${shorter} and ${row}.lag_days <= ${longer}`;
  return monthFacts(`and (l.order_id, l.line_id) in (
       select e.order_id, e.line_id from return_event e
        where e.shop_key = $1 and e.order_id between $3 and $4 and ${isBetween("e")}
       union all
       select s.order_id, s.line_id from label_share s
        where s.shop_key = $1 and s.order_id between $3 and $4 and ${isBetween("s")})`);
}

/** Conditions on rows `m` of SKUs and of products, each beginning with "and"; none = every SKU and product. */
export type EntityFilter = { sku: string; product: string };

/** The SKUs of $5, lines without a SKU, and the products of $6; null = every one. */
export const LISTED_ENTITIES: EntityFilter = {
  sku: "and ($5::text[] is null or m.sku is null or m.sku = any($5::text[]))",
  product: "and ($6::text[] is null or m.product_gid = any($6::text[]))",
};
export const EVERY_ENTITY: EntityFilter = { sku: "", product: "" };

/**
 * `entity_measure`: one row per entity of the month that passes the filter, and per group and the workspace, the
 * measures of every window side by side; a SKU has a row per listing. After `MONTH_FACTS`.
 */
export function entityMeasures(windows: readonly CohortWindow[], filter: EntityFilter): string {
  const columns = [...FIXED_MEASURES, ...windows.flatMap((window) => WINDOW_MEASURES.map(columnOf(window)))];
  const sums = columns.map((column) => `sum(m.${column})::bigint as ${column}`).join(", ");
  return `line_return as (
    select f.line_place, ${windows.map(lineSums).join(", ")} from fact f group by f.line_place
  ), part as (
    select l.sku, l.listing_id, l.product_gid, l.used, l.vendor, null::bigint as sold_units,
           null::bigint as costed_sold_units, ${windows.map(lineMeasures).join(", ")}
      from line_return r join line l on l.line_place = r.line_place
    union all
    select l.sku, l.listing_id, l.product_gid, l.used, l.vendor, sum(l.sold_units),
           sum(l.sold_units) filter (where l.unit_cost_minor is not null),
           ${windows.flatMap(() => WINDOW_MEASURES.map(() => "null")).join(", ")}
      from line l group by l.sku, l.listing_id, l.product_gid, l.used, l.vendor
  ), listing_measure as materialized (
    select m.sku, m.listing_id, m.product_gid, m.used, m.vendor,
           ${columns.map((column) => `coalesce(sum(m.${column}), 0)::bigint as ${column}`).join(", ")}
      from part m group by m.sku, m.listing_id, m.product_gid, m.used, m.vendor
  ), product_measure as materialized (
    select m.product_gid, m.used, m.vendor, ${sums}
      from listing_measure m group by m.product_gid, m.used, m.vendor
  ), entity_measure as (
    select 'sku' as kind, coalesce(m.sku, '') as key, m.listing_id, ${columns.join(", ")}
      from listing_measure m where true ${filter.sku}
    union all
    select case when m.used then 'product_used' else 'product' end, m.product_gid, ${NO_LISTING}, ${columns.join(", ")}
      from product_measure m where m.product_gid is not null ${filter.product}
    union all
    select g.kind, g.key, ${NO_LISTING}, ${sums}
      from (select m.*, p.family, p.analytics_category
              from product_measure m left join product p on p.shop_key = $1 and p.product_gid = m.product_gid) m
     cross join lateral ${GROUPS} g (kind, key)
     where g.key is not null group by g.kind, g.key
  )`;
}

/** Rows of a lateral join after `entity_measure m`: a window's name, then `MEASURES`. */
export function measuresByWindow(windows: readonly CohortWindow[]): string {
  const rows = windows.map((window) => {
    const columns = [...FIXED_MEASURES, ...WINDOW_MEASURES.map(columnOf(window))];
    return `('${window}', ${columns.map((column) => `m.${column}`).join(", ")})`;
  });
  return `(values ${rows.join(", ")}) w (observation_window, ${MEASURES.join(", ")})`;
}

/**
 * `entity_return` and `entity_request`: the arrays of lifetime rows, of the same entities. After `MONTH_FACTS`. SKUs and
 * products are added up apart from the groups: sorting them under one key takes twice as long.
 */
export function entityReturns(filter: EntityFilter): string {
  return `unit as (
    select e.sku, e.listing_id, e.product_gid, e.used, e.family, e.analytics_category, e.vendor, e.reason,
           e.lag_days, e.returned_units as units
      from event e where e.returned_units > 0
  ), group_unit as (
    select family, analytics_category, vendor, reason, lag_days, sum(units)::bigint as units
      from unit group by family, analytics_category, vendor, reason, lag_days
  ), entity_return as (
    ${atEachLevel(
      { detail: "unit", grouped: "group_unit", filter },
      ["reason", "lag_days"],
      (rows) => `array_agg(reason order by reason, lag_days) as return_reasons,
           array_agg(lag_days order by reason, lag_days) as return_lag_days,
           array_agg(units order by reason, lag_days) as return_units
      from ${rows}`,
    )}
  ), request as (
    select l.sku, l.listing_id, l.product_gid, l.used, l.family, l.analytics_category, l.vendor, q.status, q.units
      from line l
      join return_request q on q.shop_key = $1 and q.order_id = l.order_id and q.line_id = l.line_id
       and q.order_id between $3 and $4
  ), group_request as (
    select family, analytics_category, vendor, status, sum(units)::bigint as units
      from request group by family, analytics_category, vendor, status
  ), entity_request as (
    ${atEachLevel(
      { detail: "request", grouped: "group_request", filter },
      ["status"],
      (rows) => `array_agg(status order by status) as request_states,
           array_agg(units order by status) as request_units
      from ${rows}`,
    )}
  )`;
}

/** `day`: the days of groups and the workspace, returned units by window side by side. After `MONTH_FACTS`. */
export function groupDays(windows: readonly CohortWindow[]): string {
  const returned = returnedColumns(windows);
  const sums = windows.map(
    (window, index) => `coalesce(sum(e.returned_units)${inside("e", window)}, 0) as ${returned[index]}`,
  );
  return `day_part as (
    select ordered_on, family, analytics_category, vendor, sum(sold_units) as sold,
           ${returned.map((name) => `0 as ${name}`).join(", ")}
      from line group by ordered_on, family, analytics_category, vendor
    union all
    select e.ordered_on, e.family, e.analytics_category, e.vendor, 0, ${sums.join(", ")}
      from event e group by e.ordered_on, e.family, e.analytics_category, e.vendor
  ), day as (
    select g.kind, g.key, m.ordered_on, sum(m.sold)::bigint as sold,
           ${returned.map((name) => `sum(m.${name})::bigint as ${name}`).join(", ")}
      from day_part m cross join lateral ${GROUPS} g (kind, key)
     where g.key is not null group by g.kind, g.key, m.ordered_on
  )`;
}

/** `entity_day`: the rows of `day` as arrays. After `MONTH_FACTS`. */
export function entityDays(windows: readonly CohortWindow[]): string {
  const returned = returnedColumns(windows);
  return `${groupDays(windows)}, entity_day as (
    select kind, key, array_agg(ordered_on order by ordered_on) as sold_days,
           array_agg(sold order by ordered_on) as day_sold_units,
           ${returned.map((name) => `array_agg(${name} order by ordered_on) as ${name}`).join(", ")}
      from day group by kind, key
  )`;
}

/** What `entity_day` says, for rows named `row`. */
export function entityDayColumns(windows: readonly CohortWindow[], row: string): string {
  const columns = ["sold_days", "day_sold_units", ...returnedColumns(windows)];
  return columns.map((column) => `${row}.${column}`).join(", ");
}

/** Of those of `m`, the column that a row `w` of `measuresByWindow` takes. */
export function dayReturned(windows: readonly CohortWindow[]): string {
  const cases = windows.map((window) => `when '${window}' then m.${columnOf(window)("returned")}`);
  return `case w.observation_window ${cases.join(" ")} end`;
}

type UnitRows = { detail: string; grouped: string; filter: EntityFilter };

/** Units by entity and `key`, added up from the rows of `detail` and, for groups, of `grouped`; then `arrays` of them. */
function atEachLevel(
  { detail, grouped, filter }: UnitRows,
  key: readonly string[],
  arrays: (rows: string) => string,
): string {
  const unit = (
    entity: string,
    from: string,
  ) => `(select ${entity}, ${key.join(", ")}, sum(m.units)::bigint as units
           from ${from} group by 1, 2, 3, ${key.join(", ")}) u group by kind, key, listing_id`;
  const product = `case when m.used then 'product_used' else 'product' end as kind, m.product_gid as key`;
  const noListing = `${NO_LISTING} as listing_id`;
  return [
    unit("'sku' as kind, coalesce(m.sku, '') as key, m.listing_id", `${detail} m where true ${filter.sku}`),
    unit(`${product}, ${noListing}`, `${detail} m where m.product_gid is not null ${filter.product}`),
    unit(
      `g.kind, g.key, ${noListing}`,
      `${grouped} m cross join lateral ${GROUPS} g (kind, key) where g.key is not null`,
    ),
  ]
    .map((rows) => `select kind, key, listing_id, ${arrays(rows)}`)
    .join("\n    union all\n    ");
}

const columnOf = (window: CohortWindow) => (name: string) => `${name}_${window}`;

function returnedColumns(windows: readonly CohortWindow[]): string[] {
  return windows.map((window) => columnOf(window)("returned"));
}

function inside(row: string, window: CohortWindow): string {
  const lastLagDays = LAST_LAG_DAYS[window];
  return lastLagDays === null ? "" : ` filter (where ${row}.lag_days <= ${lastLagDays})`;
}

// A line's units fit an integer; the sum of integers is no numeric, which would cost more than all the rest.
function lineSums(window: CohortWindow): string {
  const sums = { returned_units: "integer", refunded_units: "integer", restocked_units: "integer" };
  return [...Object.entries(sums), ["refund_minor", "bigint"] as const, ["label_minor", "bigint"] as const]
    .map(
      ([column, type]) => `(sum(f.${column})${inside("f", window)})::${type} as ${columnOf(window)(column)}`,
    )
    .join(", ");
}

/** `WINDOW_MEASURES` of one line that something came back of. */
function lineMeasures(window: CohortWindow): string {
  const of = (column: string) => `r.${columnOf(window)(column)}`;
  const returned = of("returned_units");
  const values = [
    returned,
    of("refunded_units"),
    of("restocked_units"),
    `${of("restocked_units")} * l.unit_cost_minor`,
    `case when l.unit_cost_minor is not null then ${returned} end`,
    of("refund_minor"),
    of("label_minor"),
    `case when ${returned} > ${of("refunded_units")} then ${returned} - ${of("refunded_units")} end`,
    `case when ${of("label_minor")} is not null then ${returned} end`,
  ];
  return WINDOW_MEASURES.map((measure, index) => `${values[index]} as ${columnOf(window)(measure)}`).join(
    ", ",
  );
}

import { monthToDate } from "../../lib/month.ts";
import { query } from "../query.ts";
import { columnsInside, monthsBetween, placeInside } from "./return-curve.ts";
import { keysOfSelection, type Selection } from "./selection.ts";

/** Both months are included. Each of `parts` is a selection, or several together, whose own orders are those of `months`. */
type OrderSumsRange = {
  windowDays: number;
  startMonth: number;
  endMonth: number;
  months: readonly number[];
  parts: readonly (readonly Selection[])[];
};

/** Sums over orders (M6), as src/metrics/design-effect.ts takes them. */
type Sums = Record<
  | "orders"
  | "returnedOrders"
  | "soldUnits"
  | "returnedUnits"
  | "squaredSoldUnits"
  | "soldReturnedUnits"
  | "squaredReturnedUnits",
  number
>;

export type OrderSumsRow = {
  /** Null where the part has no one category, or nothing was sold. */
  category: Sums | null;
  store: Sums | null;
  /** Of the part's own orders by month (its first day), where it sold something; null = not known. */
  months: { cohort_month: string; squared_sold_units: number | null }[];
};

const BY_ORDER = "[width_bucket($9::integer, c.order_lag_days)]";

/** Null if one of the rows has no squares; an upper bound for several rows, whatever orders they share. */
const SQUARES = `case when count(*) > count(m.squared_sold_units) then null
                      when count(*) = 1 then max(m.squared_sold_units)
                      else sum(sqrt(m.squared_sold_units)) ^ 2 end`;

/**
 * One row per part, in their order. `own`: the rows of cohort that make up a part; a vendor's part of a group lies within the
 * group (2) and the vendor (3), too. Primary keys of listing, product and cohort; product_by_family, product_by_vendor,
 * listing_by_line_vendor, listing_by_counterpart.
 */
export const loadOrderSums = query<OrderSumsRow, [shopKey: number, range: OrderSumsRange]>(
  "load_order_sums",
  `with asked as (
    select * from unnest($2::integer[], $3::text[], $4::text[], $5::boolean[], $6::text[]) k (place, kind, key, used, vendor)
  ), part as (
    select k.place, case when count(*) = count(c.category) and min(c.category) = max(c.category)
                         then min(c.category) end as category
      from asked k
      left join lateral (
        select p.analytics_category as category
          from listing l left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
         where k.kind = 'sku' and l.shop_key = $1 and l.sku = k.key
        union all
        select p.analytics_category from product p
         where k.kind = 'product' and p.shop_key = $1 and p.product_gid = k.key
        union all
        select p.analytics_category from product p
         where k.kind = 'family' and p.shop_key = $1 and p.family = k.key
        union all
        select p.analytics_category from product p
         where k.kind = 'workspace' and p.shop_key = $1 and p.vendor = k.vendor
        union all
        select null from listing l
         where k.kind = 'workspace' and l.shop_key = $1 and l.line_vendor = k.vendor and l.line_vendor <> ''
        union all
        select k.key where k.kind = 'analytics_category'
      ) c on true
     group by k.place
  ), wanted as (
    select 'workspace' as kind, '' as key
    union all
    select distinct 'analytics_category', category from part where category is not null
  ), sums as (
    select w.kind, w.key, json_build_object(
             'orders', sum(m.orders), 'returnedOrders', sum(m.returned_orders), 'soldUnits', sum(m.sold_units),
             'returnedUnits', sum(m.returned_units), 'squaredSoldUnits', sum(m.squared_sold_units),
             'soldReturnedUnits', sum(m.sold_returned_units),
             'squaredReturnedUnits', sum(m.squared_returned_units)) as sums
      from wanted w
     cross join lateral (
       select c.orders, c.squared_sold_units, ${columnsInside("c", ["sold_units", "returned_units"])},
              coalesce(c.returned_orders${BY_ORDER}, 0) as returned_orders,
              coalesce(c.sold_returned_units${BY_ORDER}, 0) as sold_returned_units,
              coalesce(c.squared_returned_units${BY_ORDER}, 0) as squared_returned_units
         from cohort c cross join lateral ${placeInside("c", "$9")}
        where c.shop_key = $1 and c.entity_kind = w.kind and c.entity_key = w.key
          and c.cohort_month = ${monthsBetween("$7", "$8")} and c.orders is not null
       offset 0
     ) m
     group by w.kind, w.key
  ), own as (
    select k.place, 1 as cover, e.entity_kind, e.entity_key, e.listing_id
      from asked k
     cross join lateral (
       ${keysOfSelection({ kind: "k.kind", key: "k.key", used: "k.used", vendor: "k.vendor" })}
       offset 0
     ) e
    union all
    select k.place, c.cover, c.kind, c.key, null
      from asked k cross join lateral (values (2, k.kind, k.key), (3, 'vendor', k.vendor)) c (cover, kind, key)
     where k.kind in ('family', 'analytics_category') and k.vendor is not null
  ), squares as (
    select e.place, e.cover, m.cohort_month, ${SQUARES} as squared_sold_units
      from own e
     cross join lateral (
       select c.cohort_month, c.squared_sold_units
         from cohort c
        where c.shop_key = $1 and c.entity_kind = e.entity_kind and c.entity_key = e.entity_key
          and (e.listing_id is null or c.listing_id = e.listing_id) and c.cohort_month = any($10::date[])
       offset 0
     ) m
     group by e.place, e.cover, m.cohort_month
  ), month as (
    select s.place, s.cohort_month, min(s.squared_sold_units) as squared_sold_units
      from squares s group by s.place, s.cohort_month having min(s.cover) = 1
  )
  select (select s.sums from sums s where s.kind = 'analytics_category' and s.key = p.category) as category,
         (select s.sums from sums s where s.kind = 'workspace') as store,
         coalesce((select json_agg(m) from month m where m.place = p.place), '[]') as months
    from part p order by p.place`,
  (shopKey, { windowDays, startMonth, endMonth, months, parts }) => {
    const asked = parts.flatMap((part, place) => part.map((selection) => ({ place, ...selection })));
    return [
      shopKey,
      asked.map(({ place }) => place),
      asked.map(({ kind }) => kind),
      asked.map(({ key }) => key),
      asked.map(({ includeUsed }) => includeUsed),
      asked.map(({ vendor }) => vendor),
      monthToDate(startMonth),
      monthToDate(endMonth),
      windowDays,
      months.map(monthToDate),
    ];
  },
);

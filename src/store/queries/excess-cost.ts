import { columnsInside, placeInside } from "./return-curve.ts";
import { blockRows, type BlockNames, type Narrowing } from "./sku-rollup.ts";

const UNITS = ["sold_units", "returned_units"];

/** Weight of the prior, in units, that a usual rate takes from its category (M25). */
const PRIOR_UNITS = 20;

/**
 * `prior`: what the store and each of its categories sold in the usual months (first days) inside $8 days, and what of it came
 * back. Ranges of cohort's primary key.
 */
export function priorOf(usualMonths: string): string {
  return `prior as materialized (
    select m.entity_kind, m.entity_key, sum(m.sold_units)::numeric as sold_units, sum(m.returned_units)::numeric as returned_units
      from (
        select c.entity_kind, c.entity_key, ${columnsInside("c", UNITS)}
          from cohort c cross join lateral ${placeInside("c", "$8")}
         where c.shop_key = $1 and c.entity_kind in ('analytics_category', 'workspace')
           and c.cohort_month = any(${usualMonths}::date[])
      ) m
     group by m.entity_kind, m.entity_key
  )`;
}

/**
 * M25 in minor units, exactly, as `excess_minor` of a row `x`: of a row with sold_units, returned_units and cost_minor, its usual
 * usual_sold_units and usual_returned_units in `usual` (or nulls), and its category (null: none). After `prior`.
 */
export function excessCost(row: string, usual: string, category: string): string {
  const whole = (column: string): string => `coalesce(${column}, 0)::bigint::numeric`;
  const sold = whole(`${row}.sold_units`);
  const returned = whole(`${row}.returned_units`);
  const cost = whole(`${row}.cost_minor`);
  return `lateral (
        select case when h.sold_units is null then null
                    when least(h.excess, ${cost}) <= 0 then 0
                    else div(2 * h.excess * ${cost} + h.units * ${returned}, 2 * h.units * ${returned})
               end::bigint as excess_minor
          from (values (1)) one
          left join lateral (
            select b.sold_units, b.sold_units * (${whole(`${usual}.usual_sold_units`)} + ${PRIOR_UNITS}) as units,
                   ${returned} * b.sold_units * (${whole(`${usual}.usual_sold_units`)} + ${PRIOR_UNITS})
                     - ${sold} * (${whole(`${usual}.usual_returned_units`)} * b.sold_units + ${PRIOR_UNITS} * b.returned_units) as excess
              from prior b
             where b.entity_kind = 'workspace' or b.entity_kind = 'analytics_category' and b.entity_key = ${category}
             order by b.entity_kind limit 1
          ) h on true
      ) x`;
}

/** The one category of the rows `row`; null where they have several, or some have none. */
export function oneCategory(row: string): string {
  const column = `${row}.analytics_category`;
  return `case when count(*) = count(${column}) and min(${column}) = max(${column}) then min(${column}) end`;
}

/**
 * `first`: the rows of `listed` (sku, sold_units, returned_units, cost_minor) with their `excess_minor`; the usual months are also
 * named as blocks. Look-ups in the primary keys of cohort, sku_quarter, sku_year, listing and product.
 */
export function firstWithExcess(narrowing: Narrowing, usualMonths: string, usual: BlockNames): string {
  const ofListed: Narrowing = (sku, listing) => `and ${sku} = f.sku ${narrowing(sku, listing)}`;
  return `${priorOf(usualMonths)}, grouped as materialized (
    select l.sku, ${oneCategory("p")} as category
      from listed f
      join listing l on l.shop_key = $1 and l.sku = f.sku ${narrowing("l.sku", "l.listing_id")}
      left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
     group by l.sku
  ), first as (
    select f.*, x.excess_minor
      from listed f
     cross join lateral (
       select sum(m.sold_units) as usual_sold_units, sum(m.returned_units) as usual_returned_units
         from (${blockRows(UNITS, ofListed, usual)}) m
     ) u
      left join grouped g on g.sku = f.sku
     cross join ${excessCost("f", "u", "g.category")}
  )`;
}

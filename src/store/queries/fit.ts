import { monthToDate } from "../../lib/month.ts";
import { query, queryValue, requireRow } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { daysOrAll } from "./return-curve.ts";
import { LINE_IS_SELECTED, lowered, optionOfVariant, selectionValues, type Selection } from "./selection.ts";

/** An option of a product's variants with its values, in the variants' order. */
export type ProductOptionRow = { name: string; option_values: string[] };

/** The options of a product's variants; the first place first. Index variant_by_product. */
export const listProductOptions = query<ProductOptionRow, [workspace: Workspace, productGid: string]>(
  "list_product_options",
  `select min(e.entry ->> 'name' collate "C") as name, array_agg(distinct e.entry ->> 'value') as option_values
     from variant v cross join jsonb_array_elements(v.options) with ordinality e (entry, place)
    where v.shop_key = $1 and v.product_gid = $2
    group by ${lowered("e.entry ->> 'name'")}
    order by min(e.place), 1 limit 100`,
  ({ shopKey }, productGid) => [shopKey, productGid],
);

/** Which groups the workspace's reasons belong to, as people confirmed it. Primary key of workspace. */
export const findReasonGroups = queryValue<Record<string, string>, [shopKey: number]>(
  "find_reason_groups",
  "select w.reason_groups from workspace w where w.shop_key = $1",
);

export type FitRange = {
  /** Of a product. */
  selection: Selection;
  windowDays: number | null;
  countedMonths: readonly number[];
  /** The name of the option whose values are sizes. */
  option: string;
  /** Reasons in lower case that have a group, and their groups. */
  groups: ReadonlyMap<string, string>;
};

/** Returns with a stated reason, an order counted once; those in the groups too_small and too_large. */
export type FitCountsRow = { returns: number; too_small: number; too_large: number };

/** Sizes by their value in lower case; '' = none. */
export type FitFigures = {
  sizes: (FitCountsRow & { size: string; label: string | null; sold_units: number })[];
  /** Returned units; group null = of no stated reason. */
  reasons: { size: string; reason_group: string | null; returned_units: number }[];
  /** Stated reasons without a group, those with the most units first. */
  unmapped: { reason: string; returned_units: number }[];
  orders: number;
  bracketed_orders: number;
  bracketed_sold_units: number;
  bracketed_returned_units: number;
  /** Exchanged units; to null = another product, or not known. */
  exchanges: { from_size: string; to_size: string | null; units: number }[];
  /** Returned units of other products by stated reason: of the category and of the store. */
  others: (FitCountsRow & { entity_kind: string })[];
};

const COUNTS = (units: string): string =>
  ["too_small", "too_large"]
    .map(
      (group) => `coalesce(sum(${units}) filter (where reason_group = '${group}'), 0)::integer as ${group}`,
    )
    .join(", ");

const json = (select: string): string => `coalesce((select json_agg(r) from (${select}) r), '[]')`;

/**
 * One row: the fit of a product (M22). Lines added to an order on another day count as a separate order (M6): an exchange's
 * additions are not bracketing. Indexes order_line_by_product, primary keys of return_event, variant, product and cohort.
 */
export const loadFit = requireRow<FitFigures, [workspace: Workspace, range: FitRange]>(
  "load_fit",
  `with mapping as materialized (
    select * from unnest($9::text[], $10::text[]) m (reason, reason_group)
  ), line as materialized (
    select l.order_id, l.line_id, l.ordered_on, l.sold_units, coalesce(o.option_value, '') as size, o.option_label as label
      from order_line l
      left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
      left join ${optionOfVariant("l.variant_id", "$8")} on true
     where l.shop_key = $1 and l.product_gid = $3 and l.cohort_month = any($6::date[]) and l.sold_units > 0 and ${LINE_IS_SELECTED}
  ), event as materialized (
    select l.order_id, l.ordered_on, l.size, e.occurred_on, e.returned_units, e.exchanged_units, e.reason,
           case when e.reason not like ' %' then coalesce(m.reason_group, 'other') end as reason_group, m.reason is not null as is_mapped
      from line l
     cross join lateral (
       select r.occurred_on, r.returned_units, r.exchanged_units, r.reason from return_event r
        where r.shop_key = $1 and r.order_id = l.order_id and r.line_id = l.line_id and r.lag_days <= $7 and r.returned_units > 0
       offset 0
     ) e
      left join mapping m on m.reason = ${lowered("e.reason")}
  ), evidence as (
    select size, ${COUNTS("1")}
      from (select distinct size, order_id, reason_group from event where reason_group is not null) e
     group by size
  ), stated as (
    select size, count(distinct order_id)::integer as returns from event where reason_group is not null group by size
  ), sold as (
    select size, min(label collate "C") as label, sum(sold_units)::integer as sold_units from line group by size
  ), orders as materialized (
    select order_id, ordered_on, count(distinct size) filter (where size <> '') > 1 as is_bracketed, sum(sold_units) as sold_units
      from line group by order_id, ordered_on
  ), exchanged as (
    select e.order_id, e.occurred_on, e.size, sum(e.exchanged_units) as units
      from event e where e.exchanged_units > 0 group by e.order_id, e.occurred_on, e.size
  ), sent as (
    select l.order_id, l.ordered_on, min(o.option_value) as size
      from order_line l
      join ${optionOfVariant("l.variant_id", "$8")} on true
     where l.shop_key = $1 and l.product_gid = $3 and l.sold_units > 0 and l.order_id in (select x.order_id from exchanged x)
     group by l.order_id, l.ordered_on having count(distinct o.option_value) = 1
  ), stated_units as (
    select c.entity_kind, sum(c.units)::integer as returns, ${COUNTS("c.units")}
      from (
        select case when k.entity_kind = 'product_used' then 'product' else k.entity_kind end as entity_kind,
               coalesce(m.reason_group, 'other') as reason_group, u.units
          from cohort k cross join lateral unnest(k.return_reasons, k.return_lag_days, k.return_units) u (reason, lag_days, units)
          left join mapping m on m.reason = ${lowered("u.reason")}
         where k.shop_key = $1 and k.cohort_month = any($6::date[]) and u.lag_days <= $7 and u.reason not like ' %'
           and (k.entity_kind = 'workspace' and k.entity_key = ''
                or k.entity_kind in ('product', 'product_used') and k.entity_key = $3
                or k.entity_kind = 'analytics_category'
                   and k.entity_key = (select p.analytics_category from product p where p.shop_key = $1 and p.product_gid = $3))
      ) c
     group by c.entity_kind
  )
  select ${json(`select s.size, s.label, s.sold_units, coalesce(t.returns, 0) as returns, coalesce(e.too_small, 0) as too_small,
                 coalesce(e.too_large, 0) as too_large
            from sold s left join evidence e on e.size = s.size left join stated t on t.size = s.size order by s.sold_units desc, s.size`)} as sizes,
         ${json(`select size, reason_group, sum(returned_units)::integer as returned_units from event group by size, reason_group`)} as reasons,
         ${json(`select reason, sum(returned_units)::integer as returned_units from event
             where reason_group is not null and not is_mapped group by reason order by 2 desc, 1 limit 10`)} as unmapped,
         (select count(*) from orders)::integer as orders,
         (select count(*) from orders where is_bracketed)::integer as bracketed_orders,
         (select coalesce(sum(sold_units), 0) from orders where is_bracketed)::integer as bracketed_sold_units,
         (select coalesce(sum(e.returned_units), 0) from event e
            join orders b on b.order_id = e.order_id and b.ordered_on = e.ordered_on and b.is_bracketed)::integer as bracketed_returned_units,
         ${json(`select x.size as from_size, s.size as to_size, sum(x.units)::integer as units
            from exchanged x left join sent s on s.order_id = x.order_id and s.ordered_on = x.occurred_on
           group by x.size, s.size order by 3 desc, 1, 2`)} as exchanges,
         ${json(`select o.entity_kind, o.returns - coalesce(w.returns, 0) as returns, o.too_small - coalesce(w.too_small, 0) as too_small,
                 o.too_large - coalesce(w.too_large, 0) as too_large
            from stated_units o left join stated_units w on w.entity_kind = 'product' where o.entity_kind <> 'product'`)} as others`,
  ({ shopKey }, { selection, windowDays, countedMonths, option, groups }) => [
    ...selectionValues(shopKey, selection),
    countedMonths.map(monthToDate),
    daysOrAll(windowDays),
    option,
    [...groups.keys()],
    [...groups.values()],
  ],
);

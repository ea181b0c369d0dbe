import { queryColumn, queryValue } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { LINE_VENDOR, LISTING_ID } from "./listing.ts";
import { placeInside } from "./return-curve.ts";

/**
 * A query's selection, in the database's keys. kind is workspace (key ''), sku, product, family or analytics_category;
 * includeUsed adds the used variants of a product or SKU (M14); vendor (null: any) keeps only that vendor's lines.
 */
export type Selection = {
  kind: "workspace" | "sku" | "product" | "family" | "analytics_category";
  key: string;
  includeUsed: boolean;
  vendor: string | null;
};

/** Whether this workspace ever had the names of a request; `vendor_found` is true if no vendor is named. */
export type Found = { found: boolean; vendor_found: boolean };

/** The first five values of every statement that starts with `CHOSEN` or `CANDIDATE`. */
export function selectionValues(
  shopKey: number,
  selection: Omit<Selection, "kind"> & { kind: string },
): unknown[] {
  return [shopKey, selection.kind, selection.key, selection.includeUsed, selection.vendor];
}

/** The vendor of a listing `l` joined to its product `p`. */
const VENDOR = "case when l.product_gid = '' then nullif(l.line_vendor, '') else p.vendor end";
const WITH_PRODUCT = "left join product p on p.shop_key = l.shop_key and p.product_gid = l.product_gid";
const CONDITION_KIND = "case when u.used then 'product_used' else 'product' end";

/**
 * The cohort keys of a selection in the named values; listing_id null = every listing of the SKU. One branch can match; the
 * others cost nothing, their condition on the kind being tested once. Served by the primary keys of product and listing,
 * listing_by_counterpart and product_by_vendor. $1 shop_key.
 */
export function keysOfSelection({
  kind,
  key,
  used,
  vendor,
}: Record<"kind" | "key" | "used" | "vendor", string>) {
  return `select case when ${vendor}::text is null then 'workspace' else 'vendor' end as entity_kind,
           coalesce(${vendor}, '') as entity_key, null::uuid as listing_id
     where ${kind} = 'workspace'
    union all
    select 'sku', ${key}, null where ${kind} = 'sku' and ${vendor} is null
    union all
    select 'sku', l.sku, l.listing_id from listing l
     where ${kind} = 'sku' and ${used} and ${vendor} is null and l.shop_key = $1 and l.counterpart_sku = ${key} and l.sku <> ${key}
    union all
    select 'sku', l.sku, l.listing_id from listing l ${WITH_PRODUCT}
     where ${kind} = 'sku' and ${vendor} is not null and l.shop_key = $1 and (l.sku = ${key} or ${used} and l.counterpart_sku = ${key})
       and ${VENDOR} = ${vendor}
    union all
    select ${CONDITION_KIND}, p.product_gid, null
      from product p cross join (values (false), (true)) u (used)
     where ${kind} = 'product' and p.shop_key = $1 and p.product_gid = ${key} and (${vendor} is null or p.vendor = ${vendor})
       and (${used} or not u.used)
    union all
    select ${kind}, ${key}, null where ${kind} in ('family', 'analytics_category') and ${vendor} is null
    union all
    select ${CONDITION_KIND}, p.product_gid, null
      from product p cross join (values (false), (true)) u (used)
     where ${kind} in ('family', 'analytics_category') and p.shop_key = $1 and p.vendor = ${vendor}
       and case ${kind} when 'family' then p.family else p.analytics_category end = ${key}`;
}

/** `chosen`: the entities of a request's selection. $2 kind, $3 key, $4 include used, $5 vendor. */
export const CHOSEN = `chosen as (
    ${keysOfSelection({ kind: "$2", key: "$3", used: "$4", vendor: "$5" })}
  )`;

/**
 * Columns of the rows `c` of cohort of each row `e` of `chosen`, as a lateral row `m`. The fence makes the planner look up each
 * entity in cohort's primary key: it cannot know that few are chosen, and might read the whole workspace instead.
 */
export function cohortOfChosen(columns: string, months: string, windowDays: string): string {
  return `lateral (
        select ${columns}
          from cohort c cross join lateral ${placeInside("c", windowDays)}
         where c.shop_key = $1 and c.entity_kind = e.entity_kind and c.entity_key = e.entity_key
           and (e.listing_id is null or c.listing_id = e.listing_id) and ${months}
        offset 0
      ) m`;
}

/**
 * Columns of the lines `l` that sold something, of the rows `e` of `selected` (as `chosen`; of SKUs and products) on the days
 * from starts_on to ends_on of the rows `d` of `days`, whose cohort_month they lie in. By order_line_by_sku,
 * order_line_by_product or order_line_by_counterpart.
 */
export function linesOfEntities(columns: string, days: string): string {
  const linesOf = (condition: string): string => `select ${columns}
      from selected e
     cross join days d
      join order_line l on l.shop_key = $1 and l.cohort_month = d.cohort_month
       and l.ordered_on between d.starts_on and d.ends_on and ${condition}
     where ${days} and l.sold_units > 0`;
  return `${linesOf("l.sku = e.entity_key")} and e.entity_kind = 'sku'
       and (e.listing_id is null or ${LISTING_ID} = e.listing_id)
    union all
    ${linesOf(`l.counterpart_sku = $3 and l.sku is null and ${LISTING_ID} = e.listing_id`)}
       and e.entity_kind = 'sku' and e.entity_key = ''
    union all
    ${linesOf("l.product_gid = e.entity_key and l.used = (e.entity_kind = 'product_used')")}
       and e.entity_kind in ('product', 'product_used')`;
}

export function isWholeStore({ kind, vendor }: Pick<Selection, "kind" | "vendor">): boolean {
  return kind === "workspace" && vendor === null;
}

/** Whether group_day has the days of a selection: a vendor's part of a group is the sum of products, which keep none. */
export function hasGroupDays({ kind, vendor }: Pick<Selection, "vendor"> & { kind: string }): boolean {
  return kind === "workspace" || ((kind === "family" || kind === "analytics_category") && vendor === null);
}

/** The SKUs that a SKU or product selection counts, by code point; null for groups and the workspace. After `CHOSEN`. */
export const CHOSEN_SKUS = `case $2
    when 'sku' then array(
      select $3::text collate "C" as sku
       where $5 is null
          or exists (select from sku s where s.shop_key = $1 and s.sku = $3 and s.vendor = $5)
      union
      select c.entity_key from chosen c where c.entity_key <> ''
      union
      select l.sku from variant l ${WITH_PRODUCT}
       where $4 and l.shop_key = $1 and l.counterpart_sku = $3 and l.used and l.sku is not null
         and ($5 is null or p.vendor = $5)
       order by 1)
    when 'product' then array(
      select n.sku
        from (select l.sku, l.used from listing l where l.shop_key = $1 and l.product_gid = $3 and l.sku <> ''
              union all
              select v.sku, v.used from variant v where v.shop_key = $1 and v.product_gid = $3 and v.sku is not null
              union all
              select s.sku, s.used from sku s where s.shop_key = $1 and s.product_gid = $3) n
       where ($4 or not n.used)
         and ($5 is null or exists (select from product p where p.shop_key = $1 and p.product_gid = $3 and p.vendor = $5))
       group by n.sku order by n.sku)
  end`;

/** The columns of `Found`. Primary keys of sku, product and entity; product_by_vendor, listing_by_line_vendor. */
export const FOUND = `case $2
    when 'workspace' then true
    when 'sku' then exists (select from sku s where s.shop_key = $1 and s.sku = $3)
    when 'product' then exists (select from product p where p.shop_key = $1 and p.product_gid = $3)
    else exists (select from entity e where e.shop_key = $1 and e.type_rank = 3 and e.label = $3 and e.entity_key = $3
                    and e.product_group_type = $2)
  end as found, ${vendorFound("$5")} as vendor_found`;

/** Whether this workspace ever had the vendor in the named parameter; true where it is null. */
export function vendorFound(vendor: string): string {
  return `(${vendor}::text is null
     or exists (select from product p where p.shop_key = $1 and p.vendor = ${vendor})
     or exists (select from listing l where l.shop_key = $1 and l.line_vendor = ${vendor} and l.line_vendor <> ''))`;
}

const listingsOfVendor = (columns = "", join = ""): string =>
  `select l.sku, l.listing_id, l.product_gid, ${VENDOR} as vendor, p.family, p.analytics_category ${columns}
      from listing l ${WITH_PRODUCT} ${join}
     where l.shop_key = $1 and ($5::text is null or ${VENDOR} = $5)`;
const IS_CANDIDATE = `case $2 when 'sku' then l.sku = $3 or $4 and l.counterpart_sku = $3
                   when 'product' then l.product_gid = $3 and ($4 or not l.used)
                   when 'family' then p.family = $3
                   when 'analytics_category' then p.analytics_category = $3
                   else true end`;

/** The lines of facts `e` with their products, and whether they are of the selection (M14), also those that sold nothing. */
export const LINES_OF_FACTS = `join order_line l on l.shop_key = $1 and l.order_id = e.order_id and l.line_id = e.line_id
      left join product p on p.shop_key = $1 and p.product_gid = l.product_gid`;
export const LINE_IS_SELECTED = `($5::text is null or coalesce(p.vendor, ${LINE_VENDOR}) = $5)
       and ${IS_CANDIDATE}`;

/**
 * `candidate`: the listings of a selection, each with its product's vendor and groups: what a ranking within a selection
 * counts. Reads the workspace's listings.
 */
export const CANDIDATE = `candidate as materialized (
    ${listingsOfVendor()}
       and ${IS_CANDIDATE}
  )`;

/** Texts of options are compared without the case of A to Z (M22). */
export const lowered = (text: string): string => `lower((${text}) collate "C")`;

/** A lateral row `o` with the value that a variant has of the option in the named value, in lower case; null = none. */
export function optionOfVariant(variantId: string, name: string): string {
  return `lateral (
        select ${lowered("e.entry ->> 'value'")} as option_value, e.entry ->> 'value' as option_label
          from variant v cross join jsonb_array_elements(v.options) with ordinality e (entry, place)
         where v.shop_key = $1 and v.variant_id = ${variantId} and ${lowered("e.entry ->> 'name'")} = ${lowered(name)}
         order by e.place limit 1
      ) o`;
}

/** `CANDIDATE` with the value of the option in the named value, '' = none (M22). Primary key of variant. */
export function candidateByOption(name: string): string {
  return `candidate as materialized (
    ${listingsOfVendor(
      `, coalesce(o.option_value, '') collate "C" as option_value, o.option_label`,
      `left join ${optionOfVariant("l.variant_id", name)} on true`,
    )}
       and ${IS_CANDIDATE}
  )`;
}

/** `outsider`: the vendor's other listings, with the same columns. */
export const OUTSIDER = `outsider as (
    ${listingsOfVendor()}
       and not coalesce(${IS_CANDIDATE}, false)
  )`;

/** `shown`: the product that a ranking shows of each SKU, and its vendor: the SKU's own, within a selection one of it. */
export const SHOWN = `shown as not materialized (select s.sku, s.product_gid, s.vendor from sku s where s.shop_key = $1)`;

/** The same of one vendor's SKUs alone. */
export const shownOfVendor = (vendor: string): string =>
  `shown as materialized (select s.sku, s.product_gid, s.vendor from sku s where s.shop_key = $1 and s.vendor = ${vendor})`;

/** The same after `CANDIDATE`: the SKU's own product where that is selected, else the first that is. */
export const SHOWN_OF_CANDIDATE = `shown as (
    select distinct on (c.sku) c.sku, coalesce(nullif(c.product_gid, ''), s.product_gid) as product_gid,
           case when c.product_gid = '' then s.vendor else c.vendor end as vendor
      from candidate c join sku s on s.shop_key = $1 and s.sku = c.sku
     order by c.sku, c.product_gid = s.product_gid desc nulls last, c.product_gid = '', c.product_gid
  )`;

/**
 * Names of all vendors that the workspace ever had, those with the most products first: candidates for an unknown one. Indexes
 * product_by_vendor and listing_by_line_vendor.
 */
export const listVendors = queryColumn<string, [workspace: Workspace]>(
  "list_vendors",
  `select v.vendor
     from (select p.vendor, count(*) as products from product p where p.shop_key = $1 and p.vendor is not null group by p.vendor
           union all
           select l.line_vendor, 0 from listing l where l.shop_key = $1 and l.line_vendor <> '' group by l.line_vendor) v
    group by v.vendor order by sum(v.products) desc, v.vendor limit 1000`,
  ({ shopKey }) => [shopKey],
);

/** How the workspace writes the name of an option, which is compared without case (M22); null = no variant has it. Primary key of variant. */
export const findOptionName = queryValue<string, [workspace: Workspace, name: string]>(
  "find_option_name",
  `select e.entry ->> 'name' as name
     from variant v cross join jsonb_array_elements(v.options) e (entry)
    where v.shop_key = $1 and ${lowered("e.entry ->> 'name'")} = ${lowered("$2::text")}
    order by v.variant_id limit 1`,
  ({ shopKey }, name) => [shopKey, name],
);

/** The option names of the workspace's variants, those of the most variants first. Reads all variants of the workspace. */
export const listOptionNames = queryColumn<string, [workspace: Workspace]>(
  "list_option_names",
  `select min(e.entry ->> 'name' collate "C") as name
     from variant v cross join jsonb_array_elements(v.options) e (entry)
    where v.shop_key = $1
    group by ${lowered("e.entry ->> 'name'")}
    order by count(*) desc, 1 limit 1000`,
  ({ shopKey }) => [shopKey],
);

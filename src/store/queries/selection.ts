/**
 * What a query is about, as the database keys it. kind is workspace (key ''), sku, product, family or
 * analytics_category; includeUsed adds the used variants of a product or SKU (M14).
 */
export type Selection = {
  kind: "workspace" | "sku" | "product" | "family" | "analytics_category";
  key: string;
  includeUsed: boolean;
};

/** The first four values of every statement that starts with `CHOSEN`. */
export function selectionValues(
  shopKey: number,
  selection: { kind: string; key: string; includeUsed: boolean },
): unknown[] {
  return [shopKey, selection.kind, selection.key, selection.includeUsed];
}

/**
 * `chosen`: the cohort keys of a selection (none = this workspace never had that entity). One branch can match; the
 * others cost nothing, their `$2 =` being tested once. Served by the primary keys of sku, product and entity, and
 * sku_by_counterpart. $1 shop_key, $2 kind, $3 key, $4 include used.
 */
export const CHOSEN = `chosen as (
    select 'workspace' as entity_kind, '' as entity_key where $2 = 'workspace'
    union all
    select 'sku', s.sku from sku s where $2 = 'sku' and s.shop_key = $1 and s.sku = $3
    union all
    select 'sku', s.sku from sku s
     where $2 = 'sku' and $4 and s.shop_key = $1 and s.counterpart_sku = $3 and s.used and s.sku <> $3
    union all
    select 'product', p.product_gid from product p
     where $2 = 'product' and p.shop_key = $1 and p.product_gid = $3
    union all
    select 'product_used', p.product_gid from product p
     where $2 = 'product' and $4 and p.shop_key = $1 and p.product_gid = $3
    union all
    select $2, e.entity_key from entity e
     where $2 in ('family', 'analytics_category') and e.shop_key = $1 and e.type_rank = 3
       and e.label = $3 and e.entity_key = $3 and e.product_group_type = $2
  )`;

/** The SKUs a SKU or product selection took, by code point; null for groups and the workspace. */
export const CHOSEN_SKUS = `case $2
    when 'sku' then (select array_agg(c.entity_key order by c.entity_key) from chosen c)
    when 'product' then (
      select coalesce(array_agg(s.sku order by s.sku), '{}') from sku s
       where s.shop_key = $1 and s.product_gid = $3 and (not s.used or $4))
  end`;

/**
 * `selected_skus`: the SKUs a selection narrows a leaderboard to (M14: groups hold both conditions); empty for the
 * workspace, which is not narrowed. Served by sku_by_product, after `CHOSEN`.
 */
export const SELECTED_SKUS = `selected_skus (sku) as (
    select c.entity_key from chosen c where $2 = 'sku'
    union all
    select s.sku from sku s
     where $2 = 'product' and s.shop_key = $1 and s.product_gid = $3 and (not s.used or $4)
    union all
    select s.sku from sku s join product p on p.shop_key = s.shop_key and p.product_gid = s.product_gid
     where $2 in ('family', 'analytics_category') and s.shop_key = $1
       and $3 = case $2 when 'family' then p.family else p.analytics_category end
  )`;

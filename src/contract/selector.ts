/** The subject of a request: the workspace (key '') unless another one is named. */
export type Selector = {
  kind: "workspace" | "sku" | "product" | "family" | "analytics_category";
  key: string;
};

export type SelectorInput = {
  sku?: string;
  product_gid?: string;
  store_product_gid?: string;
  shopify_product_gid?: string;
  product_group_type?: "family" | "analytics_category";
  product_group_key?: string;
};

/** The contradiction in an input's selectors, as a sentence; null: none. */
export function selectorProblem(input: SelectorInput): string | null {
  const productGids = productGidsOf(input);
  if (new Set(productGids).size > 1) return "product_gid and its aliases must not name different products.";
  const { sku, product_group_type: groupType, product_group_key: groupKey } = input;
  if ((groupType === undefined) !== (groupKey === undefined)) {
    return "product_group_type and product_group_key must be given together.";
  }
  const families = [sku, productGids[0], groupKey].filter((value) => value !== undefined);
  return families.length > 1
    ? "Give one selector only: sku, or product_gid, or product_group_type with product_group_key."
    : null;
}

/** The selector of a validated input, for which `selectorProblem` returns null. */
export function readSelector(input: SelectorInput): Selector {
  const { sku, product_group_type: groupType, product_group_key: groupKey } = input;
  const [productGid] = productGidsOf(input);
  if (sku !== undefined) return { kind: "sku", key: sku };
  if (productGid !== undefined) return { kind: "product", key: productGid };
  if (groupType !== undefined && groupKey !== undefined) return { kind: groupType, key: groupKey };
  return { kind: "workspace", key: "" };
}

function productGidsOf(input: SelectorInput): string[] {
  return [input.product_gid, input.store_product_gid, input.shopify_product_gid].filter(
    (value) => value !== undefined,
  );
}

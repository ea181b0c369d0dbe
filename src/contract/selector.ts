import { invalidRequest } from "./errors.ts";

export type GroupType = "family" | "analytics_category";

/** What a request is about; none given = the whole workspace. */
export type Selector =
  | { kind: "workspace" }
  | { kind: "sku"; sku: string }
  | { kind: "product"; productGid: string }
  | { kind: "product_group"; groupType: GroupType; groupKey: string };

export type SelectorInput = {
  sku?: string;
  product_gid?: string;
  store_product_gid?: string;
  shopify_product_gid?: string;
  product_group_type?: string;
  product_group_key?: string;
};

/** What is contradictory in the selector family of an input, as a sentence; null = nothing. */
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

/** Resolves the selector family of a validated input; throws `invalid_request` when it is contradictory. */
export function readSelector(input: SelectorInput): Selector {
  const problem = selectorProblem(input);
  if (problem !== null) throw invalidRequest(problem);
  const { sku, product_group_type: groupType, product_group_key: groupKey } = input;
  const [productGid] = productGidsOf(input);
  if (sku !== undefined) return { kind: "sku", sku };
  if (productGid !== undefined) return { kind: "product", productGid };
  if (groupKey !== undefined) {
    return { kind: "product_group", groupType: groupType as GroupType, groupKey };
  }
  return { kind: "workspace" };
}

function productGidsOf(input: SelectorInput): string[] {
  return [input.product_gid, input.store_product_gid, input.shopify_product_gid].filter(
    (value) => value !== undefined,
  );
}

import { compareCodePoints } from "./code-point.ts";

export interface SelectableVariant {
  sku: string | null;
  productId: string;
  used: boolean;
  /** The new SKU a used variant is the counterpart of. */
  counterpartSku: string | null;
}

export type SkuSelector =
  | { kind: "workspace" }
  | { kind: "product_group"; productIds: ReadonlySet<string> }
  | { kind: "product"; productId: string }
  | { kind: "sku"; sku: string };

/**
 * M14: the SKUs a selector takes, by code point. A product takes its new variants, and with
 * `includeUsedVariants` its used ones; a SKU takes itself, even a used one, and with it the used ones that
 * name it. Groups and the workspace always hold both conditions.
 */
export function selectSkus(
  selector: SkuSelector,
  variants: Iterable<SelectableVariant>,
  includeUsedVariants: boolean,
): string[] {
  const skus = new Set<string>(selector.kind === "sku" ? [selector.sku] : []);
  for (const variant of variants) {
    if (variant.sku !== null && isTaken(selector, variant, includeUsedVariants)) skus.add(variant.sku);
  }
  return [...skus].toSorted(compareCodePoints);
}

function isTaken(selector: SkuSelector, variant: SelectableVariant, includeUsedVariants: boolean): boolean {
  switch (selector.kind) {
    case "workspace":
      return true;
    case "product_group":
      return selector.productIds.has(variant.productId);
    case "product":
      return variant.productId === selector.productId && (includeUsedVariants || !variant.used);
    case "sku":
      return includeUsedVariants && variant.used && variant.counterpartSku === selector.sku;
  }
}

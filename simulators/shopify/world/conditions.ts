import type { Product, Variant } from "./types.ts";

const USED_VALUES = new Set(["used", "pre-owned", "refurbished", "open box"]);

/** Whether a variant is sold used, by its option named Condition. */
export function conditionOf(product: Product, variant: Variant): "new" | "used" {
  const index = product.optionNames.indexOf("Condition");
  const value = variant.optionValues[index]?.toLowerCase();
  return value !== undefined && USED_VALUES.has(value) ? "used" : "new";
}

/** The new variant with the same other options; undefined when the shop has none. */
export function counterpartOf(product: Product, variant: Variant): Variant | undefined {
  const index = product.optionNames.indexOf("Condition");
  return product.variants.find(
    (other) =>
      other !== variant &&
      conditionOf(product, other) === "new" &&
      other.optionValues.every((value, at) => at === index || value === variant.optionValues[at]),
  );
}

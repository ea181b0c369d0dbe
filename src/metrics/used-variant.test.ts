import assert from "node:assert/strict";
import { test } from "node:test";
import { selectSkus } from "./used-variant.ts";
import type { SelectableVariant } from "./used-variant.ts";

const variant = (
  sku: string | null,
  productId: string,
  counterpartSku: string | null = null,
  used = counterpartSku !== null,
): SelectableVariant => ({
  sku,
  productId,
  used,
  counterpartSku,
});
const variants = [
  variant("TEE-S", "tee"),
  variant("TEE-M", "tee"),
  variant("TEE-M-USED", "tee", "TEE-M"),
  variant("TEE-ODD-USED", "tee", null, true),
  variant(null, "tee"),
  variant("OUTLET-TEE-S", "outlet", "TEE-S"),
  variant("CAP", "cap"),
];

test("M14: a product takes its new variants, and its used ones when they are asked for", () => {
  const product = { kind: "product", productId: "tee" } as const;
  assert.deepEqual(selectSkus(product, variants, false), ["TEE-M", "TEE-S"]);
  assert.deepEqual(selectSkus(product, variants, true), ["TEE-M", "TEE-M-USED", "TEE-ODD-USED", "TEE-S"]);
});

test("M14: a SKU takes itself, and the used ones naming it when they are asked for", () => {
  const sku = { kind: "sku", sku: "TEE-S" } as const;
  assert.deepEqual(selectSkus(sku, variants, false), ["TEE-S"]);
  assert.deepEqual(selectSkus(sku, variants, true), ["OUTLET-TEE-S", "TEE-S"]);
});

test("M14: a used SKU asked for by name is taken as it is", () => {
  const sku = { kind: "sku", sku: "TEE-M-USED" } as const;
  assert.deepEqual(selectSkus(sku, variants, false), ["TEE-M-USED"]);
  assert.deepEqual(selectSkus(sku, variants, true), ["TEE-M-USED"]);
});

test("M14: a SKU that only order lines know is taken as it is", () => {
  assert.deepEqual(selectSkus({ kind: "sku", sku: "GONE" }, variants, true), ["GONE"]);
});

test("M14: groups and the workspace hold both conditions whatever is asked for", () => {
  const group = { kind: "product_group", productIds: new Set(["outlet", "cap"]) } as const;
  for (const includeUsedVariants of [false, true]) {
    assert.deepEqual(selectSkus(group, variants, includeUsedVariants), ["CAP", "OUTLET-TEE-S"]);
    assert.equal(selectSkus({ kind: "workspace" }, variants, includeUsedVariants).length, 6);
  }
});

test("M14: every SKU is taken once, by code point", () => {
  const shared = [
    variant("b", "p"),
    variant("b", "p"),
    variant("B", "p"),
    variant("😀", "p"),
    variant("\u{ffff}", "p"),
  ];
  assert.deepEqual(selectSkus({ kind: "product", productId: "p" }, shared, false), [
    "B",
    "b",
    "\u{ffff}",
    "😀",
  ]);
});

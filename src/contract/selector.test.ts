import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readSelector, selectorProblem, type SelectorInput } from "./selector.ts";

function expectRefused(input: SelectorInput, message: RegExp): void {
  assert.match(selectorProblem(input) ?? "", message, JSON.stringify(input));
}

describe("a selector", () => {
  test("that is not given is the whole workspace", () =>
    assert.deepEqual(readSelector({}), { kind: "workspace", key: "" }));

  test("is a SKU, a product or a product group", () => {
    assert.deepEqual(readSelector({ sku: "A" }), { kind: "sku", key: "A" });
    assert.deepEqual(readSelector({ product_gid: "1" }), { kind: "product", key: "1" });
    assert.deepEqual(readSelector({ product_group_type: "family", product_group_key: "Tops" }), {
      kind: "family",
      key: "Tops",
    });
  });

  test("names a product by either alias, or by several that agree", () => {
    for (const input of [
      { store_product_gid: "1" },
      { shopify_product_gid: "1" },
      { product_gid: "1", store_product_gid: "1", shopify_product_gid: "1" },
    ]) {
      assert.equal(selectorProblem(input), null);
      assert.deepEqual(readSelector(input), { kind: "product", key: "1" });
    }
  });

  test("is refused when aliases name different products", () => {
    expectRefused({ product_gid: "1", store_product_gid: "2" }, /aliases/u);
    expectRefused({ store_product_gid: "1", shopify_product_gid: "2" }, /aliases/u);
  });

  test("is refused when two families are mixed", () => {
    const group = { product_group_type: "family", product_group_key: "Tops" } as const;
    expectRefused({ sku: "A", product_gid: "1" }, /one selector only/u);
    expectRefused({ sku: "A", shopify_product_gid: "1" }, /one selector only/u);
    expectRefused({ sku: "A", ...group }, /one selector only/u);
    expectRefused({ store_product_gid: "1", ...group }, /one selector only/u);
  });

  test("is refused when half of a group is missing", () => {
    expectRefused({ product_group_type: "family" }, /together/u);
    expectRefused({ product_group_key: "Tops" }, /together/u);
    expectRefused({ sku: "A", product_group_key: "Tops" }, /together/u);
  });
});

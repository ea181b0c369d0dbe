import assert from "node:assert/strict";
import { test } from "node:test";
import { mapProduct, type SourceProduct, type VariantRecord } from "./map-product.ts";
import { readSettings } from "../shopify/settings.ts";

const SETTINGS = { url: "https://shop.myshopify.com" };

function variant(position: number, sku: string | null, options: Record<string, string>): VariantRecord {
  return {
    id: `gid://shopify/ProductVariant/${position}`,
    sku,
    title: Object.values(options).join(" / "),
    position,
    options: Object.entries(options).map(([name, value]) => ({ name, value })),
    unitCost: { amount: "4.25", currencyCode: "EUR" },
    imageUrl: null,
  };
}

function product(variants: VariantRecord[], own: Partial<SourceProduct["product"]> = {}): SourceProduct {
  return {
    product: {
      id: "gid://shopify/Product/1",
      title: " Wrap Dress ",
      handle: "wrap-dress",
      vendor: "Quay",
      productType: "Dresses",
      tags: ["sale", "family:Zeta", "family:Alpha"],
      category: "Apparel > Dresses",
      imageUrl: "https://images.example/1.png",
      imageAlt: null,
      metafield: "Wraps",
      ...own,
    },
    variants,
  };
}

test("a product's family is its type unless the settings name a metafield or a tag", () => {
  const familyBy = (settings: Record<string, string>, own = {}) =>
    mapProduct(product([], own), readSettings({ ...SETTINGS, ...settings }), "EUR").product.family;
  assert.equal(familyBy({}), "Dresses");
  assert.equal(familyBy({}, { productType: " " }), null);
  assert.equal(familyBy({ familyMetafield: "custom.family" }), "Wraps");
  assert.equal(familyBy({ familyMetafield: "custom.family" }, { metafield: null }), null);
  assert.equal(familyBy({ familyTagPrefix: "family:" }), "Alpha");
  assert.equal(familyBy({ familyTagPrefix: "group:" }), null);
});

test("a product keeps its title, category and image, a variant its image", () => {
  const pictured = { ...variant(1, "A", {}), imageUrl: " https://images.example/1-red.png " };
  const { product: mapped, variants } = mapProduct(product([pictured]), readSettings(SETTINGS), "EUR");
  assert.equal(variants[0]?.image_url, "https://images.example/1-red.png");
  assert.deepEqual(mapped, {
    product_gid: "gid://shopify/Product/1",
    title: "Wrap Dress",
    handle: "wrap-dress",
    vendor: "Quay",
    family: "Dresses",
    analytics_category: "Apparel > Dresses",
    image_url: "https://images.example/1.png",
    image_alt: null,
  });
});

test("M14: a used variant names the new one with the same other options, the first by position", () => {
  const variants = [
    variant(4, "S-LIKE-NEW", { Size: "S", Condition: "Like new" }),
    variant(3, "M-USED", { Size: "M", Condition: "Pre-Owned" }),
    variant(2, "S-USED", { Size: "S", Condition: "used " }),
    variant(1, "S", { Size: "S", Condition: "New" }),
  ];
  const mapped = mapProduct(product(variants), readSettings(SETTINGS), "EUR").variants;
  assert.deepEqual(
    mapped.map(({ sku, used, counterpart_sku }) => [sku, used, counterpart_sku]),
    [
      ["S", false, null],
      ["S-USED", true, "S"],
      ["M-USED", true, null],
      ["S-LIKE-NEW", false, null],
    ],
  );
});

test("M14: the settings name the option and the words that mean used", () => {
  const variants = [
    variant(1, "A", { Zustand: "Neu" }),
    variant(2, "B", { Zustand: "Gebraucht" }),
    variant(3, "C", { Zustand: "Used" }),
  ];
  const settings = readSettings({ ...SETTINGS, conditionOption: "Zustand", usedConditions: ["gebraucht"] });
  const mapped = mapProduct(product(variants), settings, "EUR").variants;
  assert.deepEqual(
    mapped.map(({ used }) => used),
    [false, true, false],
  );
  assert.equal(mapped[1]?.counterpart_sku, "A");
});

test("a variant keeps its options in their order, but not the placeholder of a product without options", () => {
  const optionsOf = (options: Record<string, string>) =>
    mapProduct(product([variant(1, "A", options)]), readSettings(SETTINGS), "EUR").variants[0]?.options;
  assert.deepEqual(optionsOf({ Size: " M ", Colour: "Red" }), [
    { name: "Size", value: "M" },
    { name: "Colour", value: "Red" },
  ]);
  assert.deepEqual(optionsOf({ Title: "Default Title" }), []);
});

test("a unit cost counts in the shop's currency only", () => {
  const settings = readSettings(SETTINGS);
  const sourceProduct = product([variant(1, "A", {}), { ...variant(2, "B", {}), unitCost: null }]);
  const costs = (currencyCode: string) =>
    mapProduct(sourceProduct, settings, currencyCode).variants.map((row) => row.unit_cost_minor);
  assert.deepEqual(costs("EUR"), [425, null]);
  assert.deepEqual(costs("USD"), [null, null]);
});

test("settings that cannot be used are one sentence", () => {
  const refused = (settings: Record<string, unknown>, message: RegExp) =>
    assert.throws(() => readSettings(settings), { name: "SourceFailed", message });
  refused({}, /has no address/);
  refused({ url: "ftp://shop.example" }, /has no address/);
  refused({ ...SETTINGS, familyMetafield: 'custom".x' }, /familyMetafield .* is not namespace\.key/);
  refused({ ...SETTINGS, familyTagPrefix: 3 }, /familyTagPrefix .* is not a string/);
  refused({ ...SETTINGS, usedConditions: "used" }, /usedConditions .* is not a list of strings/);
});

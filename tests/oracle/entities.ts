import { byCodePoint } from "./numbers.ts";
import type { Question } from "./oracle.ts";

/** All selectable entities with their `selector`; within a type sorted by key, while the service sorts by label. */
export function listEntities({ ledger: { catalogue }, params }: Question): { data: unknown } {
  const type = params["type"] ?? "all";
  const categories = distinct(catalogue.products.map((product) => product.analyticsCategory));
  const families = distinct(catalogue.products.map((product) => product.family));
  const groups = [
    ...categories.map((key) => group("analytics_category", key)),
    ...families.map((key) => group("family", key)),
  ].toSorted((left, right) => byCodePoint(left.selector.product_group_key, right.selector.product_group_key));
  const entities = [
    ...distinct(catalogue.skus.map((entry) => entry.sku)).map((sku) => ({ type: "sku", selector: { sku } })),
    ...distinct(catalogue.products.map((product) => product.gid)).map((gid) => ({
      type: "product",
      selector: { product_gid: gid },
    })),
    ...groups,
  ];
  return { data: entities.filter((entity) => type === "all" || entity.type === type) };
}

function group(type: string, key: string) {
  return { type: "product_group", selector: { product_group_type: type, product_group_key: key } };
}

function distinct(texts: readonly (string | null)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null))].toSorted(byCodePoint);
}

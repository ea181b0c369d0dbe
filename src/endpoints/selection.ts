import { entities } from "../contract/entities.ts";
import { invalidRequest } from "../contract/errors.ts";
import { readSelector } from "../contract/selector.ts";
import type { Selector, SelectorInput } from "../contract/selector.ts";
import type { Selection } from "../store/queries/selection.ts";

/** The request's selector in both forms: the contract's, and the database's keys. */
export type RequestSelection = { selector: Selector; selection: Selection };

export function requestSelection(
  input: SelectorInput & { include_used_variants?: boolean },
): RequestSelection {
  const selector = readSelector(input);
  return {
    selector,
    selection: { ...databaseKey(selector), includeUsed: input.include_used_variants === true },
  };
}

/** `meta.selector`: which entity, and for SKUs and products exactly which SKUs were taken (M14). */
export function selectorEcho(selector: Selector, skus: readonly string[] | null) {
  switch (selector.kind) {
    case "workspace":
      return { type: "workspace" };
    case "sku":
      return { type: "sku", primarySku: selector.sku, skus: skus ?? [] };
    case "product":
      return { type: "product", product_gid: selector.productGid, skus: skus ?? [] };
    case "product_group":
      return {
        type: "product_group",
        product_group_type: selector.groupType,
        product_group_key: selector.groupKey,
        label: selector.groupKey,
      };
  }
}

/** Throws when the workspace never had the entity: the same words whoever else may have it. */
export function requireFound(selector: Selector, found: boolean): void {
  if (found) return;
  const parameter = { workspace: "", sku: "sku", product: "product_gid", product_group: "product_group_key" };
  throw invalidRequest(
    (words) =>
      `${parameter[selector.kind]} names nothing in this workspace; take selectors from ${words.nameOf(entities)}.`,
  );
}

function databaseKey(selector: Selector): Pick<Selection, "kind" | "key"> {
  switch (selector.kind) {
    case "workspace":
      return { kind: "workspace", key: "" };
    case "sku":
      return { kind: "sku", key: selector.sku };
    case "product":
      return { kind: "product", key: selector.productGid };
    case "product_group":
      return { kind: selector.groupType, key: selector.groupKey };
  }
}

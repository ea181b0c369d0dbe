import { entities } from "../contract/entities.ts";
import { invalidRequest } from "../contract/errors.ts";
import { readSelector } from "../contract/selector.ts";
import type { Selector, SelectorInput } from "../contract/selector.ts";
import type { Found, Selection } from "../store/queries/selection.ts";

/** The request's selector in both forms: the contract's, and the database's keys. */
export type RequestSelection = { selector: Selector; selection: Selection };

/** `vendor` leaves only what is that vendor's; null = any. On leaderboards it is a filter of rows instead (M12, M13). */
export function requestSelection(
  input: SelectorInput & { include_used_variants?: boolean },
  vendor: string | null,
): RequestSelection {
  const selector = readSelector(input);
  return {
    selector,
    selection: { ...databaseKey(selector), includeUsed: input.include_used_variants === true, vendor },
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

const SELECTOR_PARAMETER = {
  workspace: "",
  sku: "sku",
  product: "product_gid",
  product_group: "product_group_key",
};

/** Throws when the workspace never had the entity or vendor; the message does not reveal whether another one has it. */
export function requireFound(selector: Selector, { found, vendor_found: vendorFound }: Found): void {
  if (!found) {
    throw invalidRequest(
      (words) =>
        `${SELECTOR_PARAMETER[selector.kind]} names nothing in this workspace; take selectors from ${words.nameOf(entities)}.`,
    );
  }
  if (!vendorFound) {
    throw invalidRequest(
      (words) => `vendor names nothing in this workspace; take vendors from ${words.nameOf(entities)}.`,
    );
  }
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

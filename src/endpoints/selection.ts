import { entities } from "../contract/entities.ts";
import { invalidRequest } from "../contract/errors.ts";
import { readSelector, type Selector, type SelectorInput } from "../contract/selector.ts";
import { meantText, SHOWN_NAME } from "../lib/nearest-name.ts";
import type { CohortRange } from "../metrics/completeness.ts";
import { loadCohort } from "../store/queries/cohort.ts";
import { listVendors, type Found, type Selection } from "../store/queries/selection.ts";
import type { Snapshot } from "../store/workspace.ts";
import { rangeEcho, requestRange } from "./cohort-months.ts";

/** A selection over cohort months, in one snapshot. */
export type CohortQuery = Snapshot & { selection: Selection; range: CohortRange };

/** `vendor` keeps only that vendor's lines; null: any. On leaderboards it filters rows instead (M12, M13). */
export function requestSelection(
  input: SelectorInput & { include_used_variants?: boolean; vendor?: string },
  vendor: string | null,
): Selection {
  return { ...readSelector(input), includeUsed: input.include_used_variants === true, vendor };
}

type CohortCall = Snapshot & {
  input: Parameters<typeof requestSelection>[0] & Parameters<typeof rangeEcho>[0];
};

export function cohortQuery({ database, workspace, input }: CohortCall): CohortQuery {
  const selection = requestSelection(input, input.vendor ?? null);
  return { database, workspace, selection, range: requestRange(workspace, input) };
}

/** The echoes of a selection over cohort months, in every meta that has them. */
export function cohortEcho({ input }: CohortCall, selection: Selection, skus: readonly string[] | null) {
  return { selector: selectorEcho(selection, skus), ...rangeEcho(input), vendor: selection.vendor };
}

/** The cohort months of a call's selection, and the echoes of its request. */
export async function loadCohortMonths(call: CohortCall) {
  const query = cohortQuery(call);
  const { database, workspace, selection, range } = query;
  const loaded = await loadCohort(database, workspace, { selection, ...range });
  await requireFound(query, loaded);
  return { query, months: loaded.months, echo: cohortEcho(call, selection, loaded.skus) };
}

/** `meta.selector`: which entity, and for SKUs and products exactly which SKUs were taken (M14). */
export function selectorEcho({ kind, key }: Selector, skus: readonly string[] | null) {
  switch (kind) {
    case "workspace":
      return { type: "workspace" };
    case "sku":
      return { type: "sku", primarySku: key, skus: skus ?? [] };
    case "product":
      return { type: "product", product_gid: key, skus: skus ?? [] };
    case "family":
    case "analytics_category":
      return { type: "product_group", product_group_type: kind, product_group_key: key, label: key };
  }
}

const SELECTOR_PARAMETER = {
  workspace: "",
  sku: "sku",
  product: "product_gid",
  family: "product_group_key",
  analytics_category: "product_group_key",
};

/**
 * Throws if the workspace never had the entity or vendor; the message does not reveal whether another one has it. The suggested
 * vendor is one of its own.
 */
export async function requireFound(
  { database, workspace, selection: selector }: Snapshot & Pick<CohortQuery, "selection">,
  { found, vendor_found: vendorFound }: Found,
): Promise<void> {
  if (!found) {
    const name = SELECTOR_PARAMETER[selector.kind];
    throw invalidRequest(
      (words) => `${name} matches nothing in this workspace; take selectors from ${words.nameOf(entities)}.`,
      name,
    );
  }
  if (!vendorFound) {
    const names = (await listVendors(database, workspace)).filter((name) => SHOWN_NAME.test(name));
    const meant = meantText(selector.vendor ?? "", names);
    throw invalidRequest(
      (words) =>
        `vendor matches nothing in this workspace; take vendors from ${words.nameOf(entities)}${meant}`,
      "vendor",
    );
  }
}

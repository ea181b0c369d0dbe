import type { PageParameters } from "./page.ts";
import { SELECTOR_NAMES } from "../contract/parameters.ts";

/** Parameters that links carry from page to page besides the selection: the vendor, months, window and the two flags. */
const KEPT_NAMES: readonly string[] = [
  "vendor",
  "start_month",
  "end_month",
  "window",
  "include_incomplete",
  "include_used_variants",
];
/** A page's parameters for its months and their comparison, in addition to the API's. */
export const ROLLING_NAMES: readonly string[] = ["period", "compare"];
/** Parameters kept while and after a product is chosen. */
export const CHOICE_NAMES: readonly string[] = [
  ...KEPT_NAMES.filter((name) => name !== "vendor"),
  ...ROLLING_NAMES,
];
/** With the selection. */
export const COHORT_STATE_NAMES: readonly string[] = [...SELECTOR_NAMES, ...KEPT_NAMES];

type Query = Readonly<Record<string, string>>;

export function pick(query: Query, names: readonly string[]): PageParameters {
  return Object.fromEntries(
    names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
}

/** All that a view of cohort months takes from its query. */
export function cohortStateOf(query: Query): PageParameters {
  return pick(query, COHORT_STATE_NAMES);
}

/**
 * The parameters that a link to another selection keeps: months, window, the two flags and the vendor, which a vendor row's link
 * replaces.
 */
export function stateWithoutSelector(query: Query): PageParameters {
  return pick(query, [...KEPT_NAMES, ...ROLLING_NAMES]);
}

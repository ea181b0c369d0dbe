import { BREAKDOWN_ORDERS } from "../../src/contract/parameters.ts";
import { FIRST_MONTH, LAST_MONTH } from "./drafts.ts";
import type { OracleParameters, OracleStore } from "./store.ts";

export type OracleRequest = { path: string; params: OracleParameters };

const WINDOWS = ["primary", "30d", "90d", "lifetime"];
const BREAKDOWNS = "vendor product option:size sku family option:Colour analytics_category".split(" ");

/** Each store has some of these; the others are unknown to it. */
const SKUS = ["S1", "S2", "S3", "U1", "U2", "GHOST", "LOOSE", "ODD", "other"];
const PRODUCTS = ["p1", "p2", "p3", "p4", "ghost"].map((id) => `gid://import/Product/${id}`);
const GROUPS = ["Tops", "Shoes", "Outdoor"];
/** Months of which some are open, with earlier ones to compare with. */
const RECENT = { start_month: "2025-05", end_month: "2025-09" };
const EVERYTHING = { start_month: "2024-10", end_month: "2026-02" };

/** Every selection in every window, and for each selection every other request; the rest varies by seed. */
export function requestsFor(store: OracleStore, seed: number): OracleRequest[] {
  const chosen = <Value>(values: readonly Value[], step: number): Value =>
    values[(seed + step) % values.length] as Value;
  const requests: OracleRequest[] = [];
  for (const [index, selection] of selections().entries()) {
    for (const [step, window] of WINDOWS.entries()) {
      const range = chosen([EVERYTHING, { start_month: FIRST_MONTH, end_month: "2025-08" }], step);
      const include_incomplete = chosen([true, false], index + step);
      requests.push({
        path: (index + step) % WINDOWS.length === 0 ? "/api/v1/summary" : "/api/v1/timeseries",
        params: { ...selection, ...range, window, include_incomplete },
      });
    }
    const window = chosen(WINDOWS, index);
    const range = chosen([EVERYTHING, { start_month: "2025-03", end_month: LAST_MONTH }], index);
    const include_incomplete = chosen([true, false, true], index);
    const event = saleEventParameters(store, seed + index);
    if (index % 3 === seed % 3) {
      const breakdown = {
        reportSection: "breakdown",
        breakdownBy: chosen(BREAKDOWNS, index),
        breakdownOrder: chosen(BREAKDOWN_ORDERS, index),
      };
      const params = { ...selection, ...range, window, include_incomplete, ...breakdown };
      requests.push({ path: "/api/v1/report", params });
    }
    if (index % 3 !== seed % 3) {
      const params = { ...selection, ...range, window, include_incomplete, reportSection: "curves" };
      requests.push({ path: "/api/v1/report", params });
    }
    for (const [step, reportSection] of ["outcomes", "bridge"].entries()) {
      const asked = { ...selection, ...chosen([RECENT, range, RECENT], index + step), reportSection };
      if ((index + seed) % 2 === step)
        requests.push({ path: "/api/v1/report", params: { ...asked, window, include_incomplete } });
    }
    if (index % 2 === seed % 2 && "product_gid" in selection) {
      const asked = { ...selection, ...chosen([EVERYTHING, RECENT], index), reportSection: "fit" };
      requests.push({ path: "/api/v1/report", params: { ...asked, window, include_incomplete } });
    }
    const [path, months, interval] = chosen(
      [
        ["/api/v1/timeseries", range, "week"],
        ["/api/v1/report", RECENT, "day"],
        ["/api/v1/report", range, "week"],
        ["/api/v1/timeseries", RECENT, "day"],
      ] as const,
      index,
    );
    requests.push(
      { path, params: { ...selection, ...months, window, include_incomplete, interval } },
      { path: "/api/v1/report", params: { ...selection, ...range, window, include_incomplete, ...event } },
      {
        path: "/api/v1/leaderboards/return-cost",
        params: { ...selection, ...range, window, include_incomplete },
      },
      {
        path: "/api/v1/leaderboards/return-rate",
        params: { ...selection, period: chosen(["month", "year"], index) },
      },
    );
  }
  for (const [index, selection] of vendorSelections().entries()) {
    if (index % 3 !== seed % 3) continue;
    const asked = { ...selection, ...EVERYTHING, window: chosen(WINDOWS, index) };
    const event = saleEventParameters(store, seed + index);
    requests.push(
      { path: "/api/v1/summary", params: asked },
      { path: "/api/v1/report", params: { ...asked, ...event, include_incomplete: true } },
      { path: "/api/v1/report", params: { ...asked, ...RECENT, interval: chosen(["week", "day"], index) } },
      {
        path: "/api/v1/report",
        params: { ...asked, ...RECENT, reportSection: "breakdown", breakdownBy: chosen(BREAKDOWNS, index) },
      },
      { path: "/api/v1/report", params: { ...asked, reportSection: "curves" } },
      {
        path: "/api/v1/report",
        params: { ...asked, ...RECENT, reportSection: chosen(["outcomes", "bridge"], index) },
      },
      { path: "/api/v1/leaderboards/return-cost", params: asked },
      { path: "/api/v1/leaderboards/return-rate", params: selection },
    );
  }
  for (const [index, breakdownBy] of BREAKDOWNS.entries()) {
    const breakdownOrder = chosen(BREAKDOWN_ORDERS, index);
    const range = chosen([EVERYTHING, { start_month: "2025-03", end_month: LAST_MONTH }], index);
    const asked = { ...range, window: chosen(WINDOWS, index), include_incomplete: true };
    const params = { ...asked, reportSection: "breakdown", breakdownBy, breakdownOrder };
    requests.push({ path: "/api/v1/report", params });
  }
  for (const filter of [{ vendor: "Best" }, { min_cost: 50 }, { limit: 2 }]) {
    requests.push({ path: "/api/v1/leaderboards/return-cost", params: { ...EVERYTHING, ...filter } });
  }
  for (const filter of [{ vendor: "Acme" }, { min_return_rate: 0.5 }, { min_sold_units: 5 }, { limit: 2 }]) {
    requests.push({ path: "/api/v1/leaderboards/return-rate", params: filter });
  }
  for (const type of ["all", "sku", "product", "product_group"]) {
    requests.push({ path: "/api/v1/entities", params: { type, limit: 100 } });
  }
  return requests;
}

const VENDORS = ["Acme", "Best", "Ghostly", "Solo", "other"];

/** A vendor alone, and with some of the selectors. */
function vendorSelections(): OracleParameters[] {
  return VENDORS.flatMap((vendor) => [
    { vendor },
    ...["S1", "S2", "LOOSE", "GHOST"].flatMap((sku) => [
      { vendor, sku },
      { vendor, sku, include_used_variants: true },
    ]),
    { vendor, product_gid: PRODUCTS[0] as string },
    { vendor, product_gid: PRODUCTS[4] as string, include_used_variants: true },
    { vendor, product_gid: PRODUCTS[3] as string, include_used_variants: true },
    { vendor, product_group_type: "family", product_group_key: "Tops" },
    { vendor, product_group_type: "analytics_category", product_group_key: "Outdoor" },
  ]);
}

function selections(): OracleParameters[] {
  const named = [
    ...SKUS.map((sku): OracleParameters => ({ sku })),
    ...PRODUCTS.map((product_gid): OracleParameters => ({ product_gid })),
  ];
  const groups = GROUPS.flatMap((product_group_key) =>
    ["family", "analytics_category"].map((product_group_type) => ({ product_group_type, product_group_key })),
  );
  return [{}, ...named, ...named.map((one) => ({ ...one, include_used_variants: true })), ...groups];
}

function saleEventParameters(store: OracleStore, seed: number): OracleParameters {
  const events = store.files.sale_events ?? [];
  const event = events[seed % (events.length + 2)];
  if (event === undefined) return seed % 2 === 0 ? {} : { saleEvent: "never" };
  const baselines = ["matched_prior", "selected_non_sale", "prior_year"];
  return {
    saleEvent: event.slug,
    saleEventBaseline: baselines[seed % 3] ?? "",
    saleEventScope: seed % 2 === 0 ? "event_scope" : "current_selection",
  };
}

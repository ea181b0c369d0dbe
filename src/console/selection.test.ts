import assert from "node:assert/strict";
import { test } from "node:test";
import { html, renderHtml } from "../lib/html.ts";
import { addressOf } from "./page-call.ts";
import type { ShownMonths } from "./months.ts";
import type { BodyOf, PageCall } from "./page.ts";
import type { ApiAnswer } from "./figure.ts";
import { overview } from "./pages/overview.ts";
import { stateWithoutSelector } from "./selection.ts";
import { filterBar } from "./views/filters.ts";
import { breakdownPart } from "./views/report/parts.ts";
import { summaryFigures } from "./views/report/summary.ts";

const MONTHS = { start_month: "2026-09", end_month: "2026-09" };
const STATE = { ...MONTHS, window: "90d", include_incomplete: "true", include_used_variants: "true" };

const callOf = (query: PageCall["query"]): PageCall => ({
  shopDomain: "a.example",
  origin: "http://localhost:8080",
  currencyCode: "EUR",
  primaryWindowDays: 30,
  minSoldUnits: 20,
  entitlements: [],
  imageSources: [],
  role: "viewer",
  query,
  problems: [],
  page: overview,
  path: {},
  refusedForm: null,
  setup: () => Promise.resolve(null),
  caller: () => assert.fail("nothing is done"),
  isWatched: () => false,
  href: (path, parameters) => addressOf("a.example", path, parameters),
  read: () => assert.fail("nothing is read"),
});

/** The parameters of the first link to a report whose text begins so. */
function reportLink(markup: string, text: string): Record<string, string> {
  const links = [...markup.matchAll(/<a\s+href="[^"?]*\/report\?([^"]*)"[^>]*>(.*?)<\/a/gsu)];
  const found = links.find(([, , content = ""]) => content.replaceAll(/<[^>]*>/gu, "").startsWith(text));
  return Object.fromEntries(new URLSearchParams((found?.[1] ?? "").replaceAll("&amp;", "&")));
}

test("a link to another selection keeps all but the selector", () => {
  const kept = { ...STATE, vendor: "A" };
  const query = { ...kept, sku: "X", product_gid: "1", reportSection: "breakdown" };
  assert.deepEqual(stateWithoutSelector(query), kept);
});

const AMOUNTS = { refunded_amount: 0, return_label_cost: 0, returns_cost: 0 };
const SOLD = {
  sold_units: 5,
  returned_units: 1,
  return_rate: 0.2,
  return_rate_interval: { low: 0.036, high: 0.624 },
};
const NOTHING = { sold_units: 0, returned_units: 0, return_rate: 0, return_rate_interval: null };

test("breakdown rows keep months and window, have their own selector, and no rate without sales", () => {
  const rows = [
    { key: "x", label: "Lamp", selector: { sku: "X", vendor: "A" }, ...SOLD, ...AMOUNTS },
    { key: "b", label: "Brand", selector: { vendor: "B" }, ...SOLD, ...AMOUNTS },
    { key: "c", label: "Chair", selector: { sku: "C" }, ...NOTHING, ...AMOUNTS },
    { key: "other", label: "Everything else", selector: null, ...NOTHING, ...AMOUNTS },
  ];
  const body = { data: { breakdown: { breakdown_by: "sku", rows } }, meta: {} };
  const report = { name: "report", body } as unknown as ApiAnswer<BodyOf<"report">>;
  const call = callOf({ ...STATE, vendor: "A", sku: "Y", reportSection: "breakdown" });
  const markup = renderHtml(html`${breakdownPart(report, call)}`);
  const { include_used_variants: _used, ...range } = STATE;
  assert.deepEqual(reportLink(markup, "Lamp"), { ...range, vendor: "A", sku: "X" });
  assert.deepEqual(reportLink(markup, "Brand"), { ...range, vendor: "B" });
  assert.match(markup, /data-from="report\/breakdown\/rows\/2\/return_rate">– <small>nothing was sold/u);
  assert.equal(markup.match(/rows\/2\/return_rate_interval/gu)?.length, 1);
  assert.doesNotMatch(markup, /Everything else/u, "no row for nothing");
});

test("the rate tile has no rate without sales, and says so once", () => {
  const summary = { ...NOTHING, ...AMOUNTS, cost_per_returned_unit: null, median_days_to_return: null };
  const body = { data: { label_costs_included: true, summary: { ...summary, outlook: null } }, meta: {} };
  const report = { name: "report", body } as unknown as ApiAnswer<BodyOf<"report">>;
  const markup = renderHtml(
    summaryFigures({ report, trend: null, before: null }, callOf({ compare: "none" })),
  );
  assert.equal(markup.match(/nothing was sold/gu)?.length, 1);
  assert.doesNotMatch(markup, /0\.0 %/u);
});

test("the bar says which months are shown, and a link to them rolls or does not", () => {
  const bar = (query: PageCall["query"], months: Omit<ShownMonths, "year">) => {
    const markup = renderHtml(
      filterBar(callOf(query), "/report", { takes: Object.keys(query), months: { ...months, year: null } }),
    );
    const links = [...markup.matchAll(/copy-link" href="[^"]*\/report([^"]*)"/gu)];
    return [/<summary>(.*?)<\/summary>/u.exec(markup)?.[1], ...links.map(([, address = ""]) => address)];
  };
  const pinned = "?start_month=2026-09&amp;end_month=2026-09";
  assert.deepEqual(bar(MONTHS, { range: MONTHS, period: null }), ["Sep 2026", "", pinned]);
  assert.deepEqual(bar({}, { range: MONTHS, period: "year" }), ["Last 12 months", "", pinned]);
  assert.deepEqual(bar({ period: "quarter" }, { range: MONTHS, period: "quarter" }), [
    "Last 3 months",
    "?period=quarter",
    pinned,
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { renderHtml } from "../lib/html.ts";
import { problemCards, verdictOf } from "./problems.ts";

type Cards = typeof problemCards;

/**
 * The lines of the card of a lamp whose returns beyond the usual rate have cost so much; null = it has no usual rate.
 * `sentence`: the verdict on its fit.
 */
function card(excess: number | null, cost: number, sentence: string | null = null): string[] {
  const facts = { kind: "month", cohort_month: "2026-09", return_rate: 0.7, baseline_rate: 0.1 };
  const body = (data: object, meta: object = {}) => ({ data, meta });
  const row = { key: "lamp", label: "Lamp", selector: {}, excess_return_cost: excess, top_reason: null };
  const problem = {
    selector: { sku: "LAMP" },
    lead: 0,
    warning: null,
    since: "2026-09",
    named: { name: "problem_1_product", body: body({ breakdown: { rows: [row] } }) },
    report: {
      name: "problem_1",
      body: body(
        { summary: { returns_cost: cost }, trend: [] },
        { selector: { type: "sku", primarySku: "LAMP" }, start_month: "2026-09", end_month: "2026-09" },
      ),
    },
    fit: { name: "problem_1_fit", body: body({ fit: { sentence } }) },
  };
  const call = {
    currencyCode: "GBP",
    imageSources: [],
    role: "viewer",
    href: (path: string) => path,
    isWatched: () => false,
  };
  const [problems, alerts] = [[problem], { name: "alerts", body: body([{ metadata: facts }]) }];
  const shown = problemCards(...([problems, alerts, call] as unknown as Parameters<Cards>));
  return [...renderHtml(shown).matchAll(/<p>(.*?)<\/p>/gsu)].map(([, line = ""]) =>
    line.replaceAll(/<[^>]*>/gu, "").replaceAll(/\s+/gu, " "),
  );
}

test("a card shows the cost of the excess, unless it is zero", () => {
  const late = "too early to say whether it gets better";
  assert.equal(card(5659, 6000)[1], `Since Sep 2026 · £5,659.00 beyond usual so far · ${late}`);
  assert.equal(card(null, 6000)[1], `Since Sep 2026 · £6,000.00 so far · ${late}`);
  assert.equal(card(0, 6000)[1], `Since Sep 2026 · ${late}`);
  assert.equal(card(null, 0)[1], `Since Sep 2026 · ${late}`);
});

test("M22: a card shows its product's fit, unless there is no evidence", () => {
  const what = "70.0 % of Sep 2026 came back, usually 10.0 %.";
  assert.equal(card(0, 0)[0]?.trim(), what);
  assert.equal(card(0, 0, "Runs small in M.")[0]?.replaceAll("  ", " "), `${what} Runs small in M.`);
});

test("the outlook's interval decides whether a problem improves", () => {
  const rates = { usual: 0.1, bad: 0.7 };
  assert.equal(verdictOf({ low: 0.71, high: 0.8 }, rates), "getting worse");
  assert.equal(verdictOf({ low: 0.6, high: 0.7 }, rates), "not better yet");
  assert.equal(verdictOf({ low: 0.11, high: 0.69 }, rates), "better, not yet as usual");
  assert.equal(verdictOf({ low: 0.1, high: 0.3 }, rates), "back to usual");
});

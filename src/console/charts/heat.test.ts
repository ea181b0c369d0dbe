import assert from "node:assert/strict";
import { test } from "node:test";
import { chartAnswer, risingStory, type ChartStory } from "../../../tests/support/chart-answer.ts";
import { textOf, titleOf } from "../../../tests/support/chart-markup.ts";
import { renderHtml } from "../../lib/html.ts";
import { valueAt } from "../figure.ts";
import { curvesChart } from "./curves.ts";
import { heatTable } from "./heat.ts";
import { trendChart } from "./trend.ts";

const usual = (soldUnits: number) =>
  Array.from({ length: 14 }, () => ({ soldUnits, returnedUnits: Math.round(soldUnits * 0.05) }));
const heatOf = (months: ChartStory["months"], fewUnits?: number): string =>
  renderHtml(
    heatTable({
      answer: chartAnswer({ ...risingStory, months }),
      ...(fewUnits !== undefined && { fewUnits }),
    }),
  );

test("heat: a month with a marked cell is named, and the title says none only without marked cells", () => {
  const answer = chartAnswer({ ...risingStory, months: usual(4000) });
  const first = valueAt(answer, "return_curves/3/ages/0") as Record<string, unknown>;
  Object.assign(first, { return_rate: 0.2, return_rate_interval: { low: 0.18, high: 0.22 } });
  const markup = renderHtml(heatTable({ answer }));
  assert.equal(markup.match(/▲<\/span/gu)?.length, 1);
  assert.match(textOf(titleOf(markup)), /^Dec 2025 has a higher return rate than complete months had/u);
  const alike = heatOf(usual(4000));
  assert.doesNotMatch(alike, /▲<\/span/u);
  assert.match(textOf(titleOf(alike)), /^No month has a higher return rate/u);
});

test("heat: without a complete month there is no comparison, nor for few units", () => {
  const [only] = usual(400);
  const young = chartAnswer({ ...risingStory, months: [only ?? { soldUnits: 1, returnedUnits: 0 }] });
  (young.body.data["pooled_return_curve"] as Record<string, unknown>[]).forEach((age) =>
    Object.assign(age, { return_rate: null, return_rate_interval: null }),
  );
  const title = textOf(titleOf(renderHtml(heatTable({ answer: young }))));
  assert.equal(title, "No other complete month to compare with");
  const months = usual(4000).with(3, { soldUnits: 25, returnedUnits: 25 });
  assert.match(textOf(titleOf(heatOf(months, 20))), /^Dec 2025 has a higher return rate/u);
  const few = heatOf(months, 30);
  assert.match(textOf(titleOf(few)), /^No month has a higher return rate/u);
  assert.doesNotMatch(few, /▲<\/span/u);
  assert.match(few, /few units/u);
  assert.equal(textOf(titleOf(heatOf(usual(25), 30))), "Too few units are sold in a month to compare");
});

test("a month alone is never compared with itself", () => {
  const answer = chartAnswer({ ...risingStory, months: usual(400).slice(0, 1), openMonths: 0 });
  const curves = renderHtml(curvesChart({ answer }));
  assert.equal(textOf(titleOf(curves)), "2.8 % of what was sold in Sep 2025 came back within 14 days");
  assert.doesNotMatch(textOf(curves), /against|complete months/u);
  const heat = renderHtml(heatTable({ answer }));
  assert.equal(textOf(titleOf(heat)), "No other complete month to compare with");
  assert.doesNotMatch(heat, /class="pooled"/u);
});

test("heat: complete months together have no number of sold units, since it differs by age", () => {
  const row =
    /<tr class="pooled">.*?<\/tr>/su.exec(renderHtml(heatTable({ answer: chartAnswer(risingStory) })))?.[0] ??
    "";
  assert.match(textOf(row), /– differs by age$/u);
  // The card of each age says of how many units.
  assert.doesNotMatch(row.slice(row.lastIndexOf("<td")), /sold_units/u);
});

test("the limit of few units is the workspace's", () => {
  const months = usual(25);
  for (const [fewUnits, isMarked] of [
    [20, false],
    [26, true],
  ] as const) {
    for (const chart of [trendChart, curvesChart, heatTable]) {
      const markup = renderHtml(chart({ answer: chartAnswer({ ...risingStory, months }), fewUnits }));
      assert.equal(/few units/u.test(markup), isMarked, `${chart.name} ${fewUnits}`);
    }
  }
});

test("curves: one month is named in the singular", () => {
  const text = textOf(renderHtml(curvesChart({ answer: chartAnswer(risingStory) })));
  assert.match(text, /in 1 month\)|in 2 months/u);
  assert.doesNotMatch(text, /\b1 months/u);
});

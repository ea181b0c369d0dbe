import assert from "node:assert/strict";
import { test } from "node:test";
import { chartAnswer, risingStory } from "../../../tests/support/chart-answer.ts";
import type { ChartStory } from "../../../tests/support/chart-answer.ts";
import { elements, textOf, titleOf } from "../../../tests/support/chart-markup.ts";
import { renderHtml } from "../../lib/html.ts";
import { valueAt } from "../figure.ts";
import { curvesChart } from "./curves.ts";
import { heatTable } from "./heat.ts";
import { trendChart } from "./trend.ts";

const CHARTS = { curvesChart, heatTable, trendChart };
const drawn = (name: keyof typeof CHARTS, story: ChartStory): string =>
  renderHtml(CHARTS[name]({ answer: chartAnswer(story) }));

test("curves: the newest six months that reached an age, each ending where its month is still open", () => {
  const markup = drawn("curvesChart", risingStory);
  const paths = elements(markup, "path").filter((path) => /^curve line-\d$/u.test(path.class ?? ""));
  assert.equal(paths.length, 6);
  const points = Object.fromEntries(
    paths.map(({ class: name = "", d = "" }) => [name, d.match(/[ML]/gu)?.length]),
  );
  // As-of is 20 days after the newest month: that one has reached 14 days, the month before 30.
  assert.deepEqual([points["curve line-1"], points["curve line-2"]], [2, 3]);
  assert.match(titleOf(markup), /data-from="report\/return_curves\/11\//u);
});

test("heat: open cells are hatched and without shade, the window has its line, and months off are marked in words", () => {
  const markup = drawn("heatTable", risingStory);
  const cells = [...markup.matchAll(/<td class="([^"]*)">(.*?)<\/td>/gsu)];
  assert.ok(cells.some(([, look = ""]) => look === "hatched"));
  for (const [, look = "", content = ""] of cells) {
    const isOpen = /still open|so far/u.test(content);
    assert.equal(look.startsWith("hatched"), isOpen, content);
    if (isOpen) assert.doesNotMatch(look, /heat-/u);
  }
  assert.equal(markup.match(/ edge"/gu)?.length, risingStory.months.length + 1);
  assert.match(markup, /aria-label="above complete months"\s*>▲/u);
});

const usual = (soldUnits: number) =>
  Array.from({ length: 14 }, () => ({ soldUnits, returnedUnits: Math.round(soldUnits * 0.05) }));
const heatOf = (months: ChartStory["months"], fewUnits?: number): string =>
  renderHtml(
    heatTable({
      answer: chartAnswer({ ...risingStory, months }),
      ...(fewUnits !== undefined && { fewUnits }),
    }),
  );

test("heat: a month with any marked cell is named, and the title says none only where nothing is marked", () => {
  const answer = chartAnswer({ ...risingStory, months: usual(4000) });
  const first = valueAt(answer, "return_curves/3/ages/0") as Record<string, unknown>;
  Object.assign(first, { return_rate: 0.2, return_rate_interval: { low: 0.18, high: 0.22 } });
  const markup = renderHtml(heatTable({ answer }));
  assert.equal(markup.match(/▲<\/span/gu)?.length, 1);
  assert.match(textOf(titleOf(markup)), /^Dec 2025 brings back more than complete months did/u);
  const alike = heatOf(usual(4000));
  assert.doesNotMatch(alike, /▲<\/span/u);
  assert.match(textOf(titleOf(alike)), /^No month brings back more/u);
});

test("heat: without a complete month nothing is compared, and few units are compared with nothing", () => {
  const [only] = usual(400);
  const young = chartAnswer({ ...risingStory, months: [only ?? { soldUnits: 1, returnedUnits: 0 }] });
  (young.body.data["pooled_return_curve"] as Record<string, unknown>[]).forEach((age) =>
    Object.assign(age, { return_rate: null, return_rate_interval: null }),
  );
  const title = textOf(titleOf(renderHtml(heatTable({ answer: young }))));
  assert.equal(title, "No complete month to compare with yet");
  const months = usual(4000).with(3, { soldUnits: 25, returnedUnits: 25 });
  assert.match(textOf(titleOf(heatOf(months, 20))), /^Dec 2025 brings back more/u);
  const few = heatOf(months, 30);
  assert.match(textOf(titleOf(few)), /^No month brings back more/u);
  assert.doesNotMatch(few, /▲<\/span/u);
  assert.match(few, /few units/u);
  assert.equal(textOf(titleOf(heatOf(usual(25), 30))), "Too few units are sold in a month to compare");
});

test("heat: complete months together have no number of sold units, since it differs by age", () => {
  const row = /<tr class="pooled">.*?<\/tr>/su.exec(drawn("heatTable", risingStory))?.[0] ?? "";
  assert.match(textOf(row), /– differs by age$/u);
  assert.doesNotMatch(row, /sold_units/u);
});

test("few units are what the workspace says", () => {
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

test("curves: one month is told in the singular", () => {
  const text = textOf(drawn("curvesChart", risingStory));
  assert.match(text, /in 1 month\)|in 2 months/u);
  assert.doesNotMatch(text, /\b1 months/u);
});

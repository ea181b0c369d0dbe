import assert from "node:assert/strict";
import { test } from "node:test";
import { chartAnswer, risingStory } from "../../../tests/support/chart-answer.ts";
import type { ChartStory } from "../../../tests/support/chart-answer.ts";
import { elements, titleOf } from "../../../tests/support/chart-markup.ts";
import { renderHtml } from "../../lib/html.ts";
import { curvesChart } from "./curves.ts";
import { heatTable } from "./heat.ts";

const CHARTS = { curvesChart, heatTable };
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
  const cells = [...markup.matchAll(/<td class="([^"]*)"\s*>(.*?)<\/td/gsu)];
  assert.ok(cells.some(([, look = ""]) => look === "hatched"));
  for (const [, look = "", content = ""] of cells) {
    const isOpen = /still open|so far/u.test(content);
    assert.equal(look.startsWith("hatched"), isOpen, content);
    if (isOpen) assert.doesNotMatch(look, /heat-/u);
  }
  assert.equal(markup.match(/ edge"/gu)?.length, risingStory.months.length + 1);
  assert.match(markup, /aria-label="above complete months"\s*>▲/u);
});

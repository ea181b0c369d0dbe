import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyStory, chartAnswer, risingStory } from "../../../tests/support/chart-answer.ts";
import type { ChartAnswer, ChartStory } from "../../../tests/support/chart-answer.ts";
import { elements, textOf, titleOf } from "../../../tests/support/chart-markup.ts";
import { html, renderHtml } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { valueAt } from "../figure.ts";
import { costsChart } from "./costs.ts";
import { curvesChart } from "./curves.ts";
import type { ChartInput } from "./frame.ts";
import { heatTable } from "./heat.ts";
import { problemMarks, saleMarks } from "./marks.ts";
import { reasonsChart } from "./reasons.ts";
import { saleEventChart } from "./sale-event.ts";
import { timingChart } from "./timing.ts";
import { trendChart } from "./trend.ts";
import { intervalFigure } from "./rates.ts";
import { anyCharacter } from "../../../tests/support/any-character.ts";

const markedTrendChart = (input: ChartInput): Html =>
  trendChart({ ...input, marks: saleMarks(input.answer as Parameters<typeof saleMarks>[0]) });
const CHARTS = {
  trendChart,
  markedTrendChart,
  costsChart,
  timingChart,
  reasonsChart,
  curvesChart,
  heatTable,
  saleEventChart,
};
const names = Object.keys(CHARTS) as (keyof typeof CHARTS)[];
const drawn = (name: keyof typeof CHARTS, story: ChartStory): string =>
  renderHtml(CHARTS[name]({ answer: chartAnswer(story) }));

test("a rising year: the finding is the title, in the API's own figures", () => {
  const title = textOf(titleOf(drawn("trendChart", risingStory)));
  assert.equal(title, "Returns rose from 4.1 % to 7.1 % between Sep 2025 and Aug 2026");
});

test("trend: dots lie where the scale puts their rate, and open months are hollow", () => {
  const markup = drawn("trendChart", risingStory);
  const dots = elements(markup, "circle").filter(({ cx }) => cx?.endsWith("%"));
  assert.equal(dots.length, 14);
  // The axis goes from 0 % at the bottom to 12 % at the top, in fourteen columns.
  for (const [index, { soldUnits, returnedUnits }] of risingStory.months.entries()) {
    const dot = dots[index];
    assert.ok(Math.abs(parseFloat(dot?.cx ?? "") - ((index + 0.5) * 100) / 14) < 0.01, dot?.cx ?? "");
    assert.ok(
      Math.abs(parseFloat(dot?.cy ?? "") - (100 - (returnedUnits / soldUnits / 0.12) * 100)) < 0.01,
      `cy ${dot?.cy}`,
    );
    assert.equal(dot?.class, index < 12 ? "dot" : "dot open");
  }
  assert.equal(
    elements(markup, "g").filter((group) => group.class === "whisker").length,
    3,
    "two months and the legend",
  );
});

test("trend: the band ends with the complete months, and the dashed line joins the open ones to them", () => {
  const markup = drawn("trendChart", risingStory);
  const [band, solid, dashed] = elements(markup, "path").map(({ d = "" }) => d.match(/[ML]/gu)?.length);
  assert.deepEqual([band, solid, dashed], [24, 12, 3]);
});

test("trend: the dashed line goes to the outlook of open months, never to what came back so far", () => {
  const places = (path: Partial<Record<string, string>> | undefined): number[] =>
    [...(path?.d ?? "").matchAll(/,([\d.]+)/gu)].map(([, y]) => Number(y));
  const markup = drawn("trendChart", risingStory);
  const dashed = elements(markup, "path").find((path) => path.class === "rate open");
  const trend = valueAt(chartAnswer(risingStory), "trend") as {
    return_rate: number;
    outlook: Figure | null;
  }[];
  const expected = trend.slice(-3).map((row) => 100 - ((row.outlook ?? row).return_rate / 0.12) * 100);
  assert.deepEqual(places(dashed).map(Math.round), expected.map(Math.round));
  const without = elements(drawn("trendChart", { ...risingStory, hasOutlook: false }), "path");
  assert.equal(places(without.find((path) => path.class === "rate open")).length, 1);
});

type Figure = { return_rate: number };

test("trend: sale days and the start of a problem are marked on their days, and in the table", () => {
  const facts = { kind: "month", episode_id: "spike", sku: "A", started_on: "2026-03-01", state: "open" };
  const alert = (title: string, metadata: object) => ({ title, metadata });
  const alerts = {
    name: "alerts",
    body: {
      data: [
        alert("The same, a month later", facts),
        alert("A jumped", facts),
        alert("Another product", { ...facts, episode_id: "other", sku: "B" }),
        alert("Import", {}),
      ],
    },
  } as unknown as Parameters<typeof problemMarks>[0];
  const answer = chartAnswer(risingStory);
  const marks = [
    ...saleMarks(answer as Parameters<typeof saleMarks>[0]),
    ...problemMarks(alerts, ({ sku }) => sku === "A"),
  ];
  const markup = renderHtml(trendChart({ answer, marks }));
  // Fourteen columns from Sep 2025 on: 28 Nov begins after 27 of 30 days of the third, 1 Dec is the first of 31 of the fourth.
  const days = elements(markup, "line").filter(({ class: name }) => name === "sale");
  const places = days.slice(0, 2).map(({ x1, x2 }) => [parseFloat(x1 ?? ""), parseFloat(x2 ?? "")]);
  assert.deepEqual(
    places.flat().map((each) => each.toFixed(2)),
    [2 + 27 / 30, 3, 3, 3 + 1 / 31].map((column) => ((column * 100) / 14).toFixed(2)),
  );
  const triangles = elements(markup, "svg").filter(({ y }) => y === "100%");
  assert.deepEqual(
    triangles.map(({ x }) => parseFloat(x ?? "").toFixed(2)),
    [((6 * 100) / 14).toFixed(2)],
  );
  const told = [...markup.matchAll(/<span class="marked">(.*?)<\/span>/gsu)].map(([, text = ""]) =>
    textOf(text),
  );
  assert.deepEqual(
    told.filter((text) => text !== ""),
    [
      "sale Label, 28 Nov 2025 to 1 Dec 2025",
      "sale Label, 28 Nov 2025 to 1 Dec 2025",
      "problem since 1 Mar 2026: A jumped",
    ].map((text) => text.replace("Label", risingStory.label)),
  );
});

test("timing: days beyond the window are left out while they are empty", () => {
  const spans = (windowDays: number | null, lastUnits: number): string[] => {
    const answer = chartAnswer({ ...risingStory, windowDays });
    const buckets = valueAt(answer, "timing_buckets") as { returned_units: number }[];
    for (const bucket of buckets.slice(3)) bucket.returned_units = lastUnits;
    const markup = renderHtml(timingChart({ answer }));
    return [...markup.matchAll(/text-anchor="middle">([\d–+]+)<\/text>/gu)].map(([, span = ""]) => span);
  };
  assert.deepEqual(spans(30, 0), ["0–7", "8–14", "15–30"]);
  assert.equal(spans(30, 2).length, 6);
  assert.equal(spans(null, 0).length, 6);
});

test("reasons: a tie has no reason that is given most", () => {
  const answer = chartAnswer(risingStory);
  const reasons = valueAt(answer, "return_reasons") as { label: string; returned_units: number }[];
  for (const [index, label] of ["Too small", "Unknown", "Too large"].entries())
    Object.assign(reasons[index] ?? {}, { label, returned_units: 9, share: 0.3333 });
  assert.equal(
    textOf(titleOf(renderHtml(reasonsChart({ answer })))),
    "No single reason is most frequent: “Too small”, “Too large” have 33.3 % of the returned units each",
  );
});

test("sixty months are named every half year, and on a phone once a year", () => {
  const months = Array.from({ length: 60 }, () => ({ soldUnits: 500, returnedUnits: 20 }));
  const markup = drawn("trendChart", { ...risingStory, months });
  const namesOf = (width: string): string[] => {
    const group = new RegExp(`<g class="${width}"\\s*>(.*?)</g`, "su").exec(markup)?.[1] ?? "";
    return [...group.matchAll(/>([A-Z][a-z]{2})</gu)].map(([, name = ""]) => name);
  };
  assert.deepEqual([...new Set(namesOf("wide"))], ["Feb", "Aug"]);
  assert.deepEqual([...new Set(namesOf("narrow"))], ["Aug"]);
});

test("a month without sales interrupts the line and has no rate", () => {
  const months = risingStory.months.map((row, index) =>
    index === 4 ? { soldUnits: 0, returnedUnits: 0 } : row,
  );
  const markup = drawn("trendChart", { ...risingStory, months });
  assert.equal(elements(markup, "path")[1]?.d?.match(/M/gu)?.length, 2);
  assert.match(markup, /value="0" data-from="report\/trend\/4\/return_rate">– <small>nothing was sold/u);
});

test("trend: titles of steady, peaked, lifetime, single, thin and open stories", () => {
  const steady = Array.from({ length: 4 }, () => ({ soldUnits: 500, returnedUnits: 20 }));
  const peak = steady.with(1, { soldUnits: 500, returnedUnits: 70 });
  const title = (story: Partial<ChartStory>): string =>
    textOf(titleOf(drawn("trendChart", { ...risingStory, openMonths: 0, ...story })));
  assert.equal(title({ months: steady }), "Returns stayed between 4.0 % and 4.0 % from Sep to Dec 2025");
  assert.equal(
    title({ months: peak }),
    "Returns peaked at 14.0 % in Oct 2025; the lowest month is Sep 2025, at 4.0 %",
  );
  assert.equal(
    title({
      months: steady
        .with(3, { soldUnits: 500, returnedUnits: 70 })
        .with(0, { soldUnits: 500, returnedUnits: 55 })
        .with(1, { soldUnits: 500, returnedUnits: 20 }),
    }),
    "Returns were highest in Dec 2025: 14.0 %; the lowest month is Oct 2025, at 4.0 %",
  );
  assert.equal(
    title({ months: peak, windowDays: null }),
    "So far, returns are highest for orders of Oct 2025: 14.0 %",
  );
  assert.equal(title({ months: steady.slice(0, 1) }), "4.0 % of what was sold in Sep 2025 came back");
  const few = peak.map(() => ({ soldUnits: 12, returnedUnits: 6 }));
  assert.equal(title({ months: few }), "Too few units are sold in a month to show a trend");
  assert.equal(
    title({ months: steady, openMonths: 4 }),
    "Every month with sales is still open: so far 4.0 % of Dec 2025 came back",
  );
});

test("costs: bars stand on each other, and their heights are their amounts", () => {
  const markup = drawn("costsChart", risingStory);
  const bars = elements(markup, "rect").filter(({ x }) => x?.endsWith("%"));
  const refunds = bars.slice(0, 14);
  const labels = bars.slice(14);
  for (const [index, bar] of refunds.entries()) {
    const amounts = valueAt(chartAnswer(risingStory), `trend/${index}`) as {
      refunded_amount: number;
      return_label_cost: number;
    };
    assert.ok(
      Math.abs(
        parseFloat(bar.height ?? "") / parseFloat(labels[index]?.height ?? "") -
          amounts.refunded_amount / amounts.return_label_cost,
      ) < 0.2,
    );
    assert.ok(
      Math.abs(
        parseFloat(labels[index]?.y ?? "") +
          parseFloat(labels[index]?.height ?? "") -
          parseFloat(bar.y ?? ""),
      ) < 0.01,
    );
    assert.equal(bar.class, index < 12 ? "series-1" : "outline-1");
  }
  assert.match(
    textOf(markup),
    /Labels of €12\.50 match no return or order\. They are not included in any month\./u,
  );
});

test("costs without usable labels say so, and draw refunds alone", () => {
  const markup = drawn("costsChart", { ...risingStory, labelPerUnit: 0 });
  assert.match(markup, /Refunds only: label costs are not included\./u);
  assert.doesNotMatch(markup, /series-2/u);
});

test("timing and sale event state their findings", () => {
  assert.equal(
    textOf(titleOf(drawn("timingChart", risingStory))),
    "66.4 % of the returned units came back within 60 days of the order",
  );
  const sale = drawn("saleEventChart", risingStory);
  assert.equal(textOf(titleOf(sale)), "Too small: 7.2 % came back, against 4.2 % in the baseline");
  assert.match(
    textOf(sale),
    /The difference is \+3\.0 points: the likely ranges \(95 % intervals\) overlap, so it is not clear\./u,
  );
  const clear = drawn("saleEventChart", {
    ...risingStory,
    sale: { event: { soldUnits: 900, returnedUnits: 180 }, baseline: { soldUnits: 900, returnedUnits: 18 } },
  });
  assert.match(
    textOf(clear),
    /\+18\.0 points: the likely ranges \(95 % intervals\) do not overlap, so it is clear\./u,
  );
});

test("reasons: the limit says that it leaves some out, and where they are", () => {
  const answer = chartAnswer(risingStory);
  const markup = renderHtml(reasonsChart({ answer, limit: 2, moreHref: "/report?a=1&b=2" }));
  assert.match(markup, /Rarer reasons are left out here\. <a href="\/report\?a=1&amp;b=2">All reasons<\/a>/u);
  assert.equal(elements(markup, "rect").length, 2);
  assert.equal(elements(markup, "rect")[1]?.class, "outline-1");
});

test("without sales, returns or an event: a sentence and no frame", () => {
  const empty = { ...risingStory, months: [{ soldUnits: 0, returnedUnits: 0 }], sale: null };
  for (const name of names) {
    const markup = drawn(name, empty);
    assert.doesNotMatch(markup, /<svg|<figure/u, name);
    assert.match(markup, /^\s*<p class="chart-nothing">[A-Z]/u, name);
  }
});

for (const name of names) {
  test(`${name}: every figure is the API's and says where from, and no drawing has a place that is no number`, () => {
    fc.assert(
      fc.property(anyStory, (story) => {
        const answer = chartAnswer(story);
        const markup = renderHtml(CHARTS[name]({ answer, exportHref: "/export" }));
        checkFigures(markup, answer);
        for (const [drawing] of markup.matchAll(/<svg.*?<\/svg>/gsu)) {
          assert.doesNotMatch(drawing, /NaN|Infinity|undefined|null/u);
        }
        assert.doesNotMatch(markup, /style=/u);
      }),
      { numRuns: 60 },
    );
  });

  test(`${name}: no text leaves its place`, () => {
    const skeleton = (label: string): string =>
      drawn(name, { ...risingStory, label }).replaceAll(/[^<>"]/gu, "");
    const plain = skeleton("Label");
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (label) => skeleton(label) === plain),
      { numRuns: 40 },
    );
    assert.equal(skeleton(`"><script>alert(1)</script><svg onload='x'>`), plain);
  });
}

test("the link of the export is there where the plan has it", () => {
  const answer = chartAnswer(risingStory);
  const charts: ((input: ChartInput) => Html)[] = Object.values(CHARTS);
  for (const chart of charts) {
    assert.match(
      renderHtml(chart({ answer, exportHref: "/x.csv" })),
      /<a href="\/x\.csv[\w-]+" download="">/u,
    );
    assert.doesNotMatch(
      renderHtml(html`${chart({ answer })}${chart({ answer, exportHref: null })}`),
      /download/u,
    );
  }
});

/** C1: each figure equals the answer, and outside of figures and drawings stands no number. */
function checkFigures(markup: string, answer: ChartAnswer): void {
  for (const [, value, from = ""] of markup.matchAll(
    /<data (?:class="absent" )?value="([^"]*)" data-from="([^"]*)"/gu,
  )) {
    const found = valueAt(answer, from.slice("report/".length));
    assert.equal(value, typeof found === "string" ? found : JSON.stringify(found), from);
  }
  const rest = markup
    .replaceAll(/<svg role="img".*?<\/svg>\s*(?=<p|<\/div)/gsu, "")
    .replaceAll(/<(data|time).*?<\/\1>/gsu, "")
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll("95 %", "");
  assert.doesNotMatch(rest, /\d/u);
}

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

const shown = (low: number, high: number): string =>
  renderHtml(intervalFigure({ name: "report", body: { data: { interval: { low, high } } } }, "interval"))
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");

test("an interval shares one sign, and says in words where an end is almost none or almost all", () => {
  assert.equal(shown(0.031, 0.052), "3.1–5.2 %");
  assert.equal(shown(0, 0.113513), "0.0–11.4 %");
  assert.equal(shown(0.9, 1), "90.0–100.0 %");
  assert.equal(shown(0.0004, 0.052), "< 0.1 % to 5.2 %");
  assert.equal(shown(0.9, 0.9997), "90.0 % to > 99.9 %");
});

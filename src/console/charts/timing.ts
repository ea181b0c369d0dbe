import { max } from "d3-array";
import { line } from "d3-shape";
import type { ReportData } from "../../contract/report.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { count, days, percent } from "../format.ts";
import { chartFigure, nothingToDraw, figureTable, type ChartInput } from "./frame.ts";
import {
  columns,
  paths,
  percentTick,
  place,
  verticalAxis,
  verticalScale,
  boxSwatch,
  dotSwatch,
  lineSwatch,
} from "./plot.ts";

type Bucket = NonNullable<ReportData["timing_buckets"]>[number];

/** When do returns come? The share of each range of days since the order as a bar, the cumulative share as a line. */
export function timingChart({ answer, exportHref }: ChartInput): Html {
  const windowDays = (valueAt(answer, "window_days") ?? Infinity) as number;
  // Days after the window are empty by its rule.
  const buckets = ((valueAt(answer, "timing_buckets") ?? []) as Bucket[]).filter(
    (bucket) => bucket.from_day <= windowDays || bucket.returned_units > 0,
  );
  if (buckets.every((bucket) => bucket.share === null || bucket.returned_units === 0)) {
    return nothingToDraw("Nothing came back, so there is no timing to draw.");
  }
  return chartFigure({
    id: `${answer.name}-timing`,
    title: findingOf(answer, buckets),
    summary: html`Days from the order to the return, as shares of the units that came back.`,
    drawing: drawingOf(buckets),
    axisLabel: "Days from order to return",
    legend: [
      { swatch: boxSwatch("series-1"), text: "share of these days" },
      { swatch: lineSwatch("running", dotSwatch("running-dot")), text: "share up to the end of these days" },
    ],
    table: tableOf(answer, buckets),
    readout: "Days",
    exportHref,
  });
}

function findingOf(answer: ApiAnswer, buckets: readonly Bucket[]): Html {
  const index = halfIndex(buckets);
  const path = `timing_buckets/${index}`;
  if (buckets[index]?.to_day === null) {
    return html`${figure(answer, `${path}/share`, percent)} of the returned units came back
    ${figure(answer, `${path}/from_day`, count)} or more days after the order`;
  }
  return html`${figure(answer, `${path}/cumulative_share`, percent)} of the returned units came back within
  ${figure(answer, `${path}/to_day`, days)} of the order`;
}

function drawingOf(buckets: readonly Bucket[]): Html {
  const scale = verticalScale(0, max(buckets, (bucket) => bucket.cumulative_share ?? 0) ?? 1);
  const { left, middle, width } = columns(buckets.length);
  const running = line<Bucket>()
    .x((_, index) => middle(index))
    .y((bucket) => scale(bucket.cumulative_share ?? 0));
  return html`${verticalAxis(scale, percentTick)}
  ${buckets.map((bucket, index) => {
    const top = scale(bucket.share ?? 0);
    return html`<rect
        class="series-1"
        x="${place(left(index))}"
        width="${place(width)}"
        y="${place(top)}"
        height="${place(scale(0) - top)}"
      />
      <text x="${place(middle(index))}" y="100%" dy="19" text-anchor="middle">${spanOf(bucket)}</text>`;
  })}
  ${paths(html`<path class="running" d="${running(buckets as Bucket[]) ?? ""}" />`)}
  ${buckets.map((bucket, index) => html`<circle class="running-dot" cx="${place(middle(index))}" cy="${place(scale(bucket.cumulative_share ?? 0))}" r="4" />`)}`;
}

function tableOf(answer: ApiAnswer, buckets: readonly Bucket[]): Html {
  const { middle } = columns(buckets.length);
  const half = halfIndex(buckets);
  return figureTable(
    ["Days", "Units returned", "Share", "Share up to here"],
    buckets.map(({ to_day: to }, index) => {
      const path = `timing_buckets/${index}`;
      const end = to === null ? " or more" : html`–${figure(answer, `${path}/to_day`, count)}`;
      return {
        head: html`${figure(answer, `${path}/from_day`, count)}${end}`,
        cells: [
          figure(answer, `${path}/returned_units`, count),
          ...["share", "cumulative_share"].map((member) =>
            figure(answer, `${path}/${member}`, percent, "nothing came back"),
          ),
        ],
        x: middle(index),
        isStart: index === half,
      };
    }),
  );
}

/** The days by which half of the returns had come. */
function halfIndex(buckets: readonly Bucket[]): number {
  return Math.max(
    0,
    buckets.findIndex((bucket) => (bucket.cumulative_share ?? 0) >= 0.5),
  );
}

function spanOf({ from_day: from, to_day: to }: Bucket): string {
  return to === null ? `${from}+` : `${from}–${to}`;
}

import { max } from "d3-array";
import type { UsageDay } from "../../actions/usage/usage.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { count, day as dayText } from "../format.ts";
import { chartFigure, nothingToDraw } from "./frame.ts";
import { columns, place, verticalAxis, verticalScale } from "./plot.ts";
import { boxSwatch } from "./swatches.ts";
import { table } from "./table.ts";

/** Days between two names under the columns, where there is room and on a phone. */
const NAME_STEPS = { wide: 5, narrow: 10 } as const;

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** How many requests a day: those that count towards the quota, and the others on top. */
export function usageChart(days: readonly UsageDay[]): Html {
  const busiest = days.toSorted((one, other) => totalOf(other) - totalOf(one))[0];
  if (busiest === undefined || totalOf(busiest) === 0) return nothingToDraw("No request in these days.");
  return chartFigure({
    id: "usage-days",
    title: html`Most requests came on ${dayText(busiest.day)}: ${count(totalOf(busiest))}`,
    summary: html`Requests of each day, which begins and ends at 00:00 UTC.`,
    drawing: drawingOf(days),
    legend: [
      { swatch: boxSwatch("series-1"), text: "counted towards the daily quota, below" },
      { swatch: boxSwatch("series-2"), text: "not counted: refused first, or the plan had no quota" },
    ],
    table: tableOf(days),
    readout: "Day",
  });
}

function totalOf({ quota_requests: counted, other_requests: others }: UsageDay): number {
  return counted + others;
}

function drawingOf(days: readonly UsageDay[]): Html {
  const scale = verticalScale(0, max(days, totalOf) ?? 0);
  const { left, middle, width } = columns(days.length);
  const part = (name: string, index: number, from: number, to: number) =>
    from !== to &&
    html`<rect
      class="${name}"
      x="${place(left(index))}"
      width="${place(width)}"
      y="${place(scale(to))}"
      height="${place(scale(from) - scale(to))}"
    />`;
  return html`${verticalAxis(scale, (value) => compact.format(value))}${dayAxis(days, middle)}
  ${days.map((row, index) => [
    part("series-1", index, 0, row.quota_requests),
    part("series-2", index, row.quota_requests, totalOf(row)),
  ])}`;
}

/** Days under their columns, counted from the newest. */
function dayAxis(days: readonly UsageDay[], middle: (index: number) => number): Html {
  return html`<g class="axis"
    >${(["wide", "narrow"] as const).map(
      (room) =>
        html`<g class="${room}"
          >${days.map(({ day }, index) => {
            if ((days.length - 1 - index) % NAME_STEPS[room] !== 0) return null;
            const [number, name] = (dayText(day) as string).split(" ");
            return html`<text x="${place(middle(index))}" y="100%" dy="19" text-anchor="middle"
              >${number} ${name}</text
            >`;
          })}</g
        >`,
    )}</g
  >`;
}

function tableOf(days: readonly UsageDay[]): Html {
  const { middle } = columns(days.length);
  return table(
    ["Day", "Counted towards the quota", "Not counted"],
    days.map((row, index) => ({
      head: dayText(row.day),
      cells: [count(row.quota_requests), count(row.other_requests)],
      x: middle(index),
      isStart: index === days.length - 1,
    })),
  );
}

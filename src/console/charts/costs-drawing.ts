import { max, min } from "d3-array";
import { stack, stackOffsetDiverging } from "d3-shape";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { columns, hatch, monthAxis, place, verticalAxis, verticalScale } from "./plot.ts";

/** A row of the trend, as far as it is about money. */
export type CostMonth = {
  cohort_month: string;
  is_complete: boolean | null;
  refunded_amount: number;
  return_label_cost: number;
  returns_cost: number;
};
type Part = "refunded_amount" | "return_label_cost";

/** Stacked, from the bottom up. */
export const COST_PARTS = ["refunded_amount", "return_label_cost"] as const;
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Stacked bars; hatched where the month is still open. `id` begins the ids of the hatches. */
export function costsDrawing(id: string, months: readonly CostMonth[]): Html {
  const series = stack<unknown, CostMonth, Part>().keys(COST_PARTS).offset(stackOffsetDiverging)(
    months as CostMonth[],
  );
  const ends = series.flatMap((part) => part.flatMap(([from, to]) => [from, to]));
  const scale = verticalScale(min(ends) ?? 0, max(ends) ?? 0);
  const { left, middle, width } = columns(months.length);
  return html`<defs>${hatch(`${id}-1`, "hatch-1")}${hatch(`${id}-2`, "hatch-2")}</defs>
    ${verticalAxis(scale, (value) => compact.format(value))}${monthAxis(
      months.map((row) => row.cohort_month),
      middle,
    )}
    ${series.map((part, order) =>
      part.map(([from, to], index) => {
        const open = months[index]?.is_complete === false;
        const name = `${open ? "outline" : "series"}-${order + 1}`;
        return (
          from !== to &&
          html`<rect
            class="${name}"
            x="${place(left(index))}"
            width="${place(width)}"
            y="${place(scale(to))}"
            height="${place(scale(from) - scale(to))}"
            fill="${open ? `url(#${id}-${order + 1})` : "currentColor"}"
          />`
        );
      }),
    )}`;
}

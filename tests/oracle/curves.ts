import { intervalOf } from "./clusters.ts";
import { dayOf, daysFrom, lastDayOf, monthsFrom } from "./calendar.ts";
import { rateOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { isDayComplete } from "./selection.ts";

const AGES = [7, 14, 30, 60, 90, 180, 365];
const NOTHING = { returned_units: null, return_rate: null, return_rate_interval: null };

/** M19: the curve of each month, day by day and unit by unit, and each age over the months complete at it. */
export function curvesPart(question: Question) {
  const { store, params } = question;
  const months = monthsFrom(String(params["start_month"]), String(params["end_month"]));
  return {
    return_curves: months.map((month) => ({
      cohort_month: `${month}-01`,
      sold_units: unitsBy(question, [month], 0).sold,
      observed_days: observedDays(question, month),
      ages: AGES.map((age) => {
        const closed = daysOf(month).filter((day) => isDayComplete(store, day, age));
        const isWhole = closed.length === daysOf(month).length;
        const isShown = params["include_incomplete"] === true ? closed.length > 0 : isWhole;
        return {
          age_days: age,
          ...(isShown ? figuresBy(question, [month], age) : NOTHING),
          is_complete: isWhole,
        };
      }),
    })),
    pooled_return_curve: AGES.map((age) => {
      const complete = months.filter((month) => isDayComplete(store, lastDayOf(month), age));
      return {
        age_days: age,
        months_included: complete.length,
        sold_units: unitsBy(question, complete, age).sold,
        ...(complete.length === 0 ? NOTHING : figuresBy(question, complete, age)),
      };
    }),
  };
}

function daysOf(month: string): number[] {
  return daysFrom(dayOf(`${month}-01`), lastDayOf(month));
}

/** How many days after the month's last day are completely over on the as-of day. */
function observedDays({ store }: Question, month: string): number {
  let days = 0;
  while (isDayComplete(store, lastDayOf(month), days + 1)) days += 1;
  return days;
}

function unitsBy({ ledger, selected }: Question, months: readonly string[], age: number) {
  const lines = ledger.lines.filter((line) => selected.holds(line) && months.includes(line.month));
  return {
    lines,
    sold: lines.reduce((sum, line) => sum + line.sold, 0),
    returned: lines.flatMap((line) => line.returned).filter(({ lagDays }) => lagDays <= age).length,
  };
}

function figuresBy(question: Question, months: readonly string[], age: number) {
  const { sold, returned, lines } = unitsBy(question, months, age);
  return {
    returned_units: returned,
    return_rate: rateOf(returned, sold),
    return_rate_interval: intervalOf(question, { sold, returned, lines }),
  };
}

import { horizonDays } from "../../src/metrics/age-curve.ts";
import { firstDayOfMonth, lastDayOfMonth, monthOfDay } from "../../src/lib/month.ts";
import { outlookModel, outlookOf, unitsBy } from "../../src/metrics/outlook.ts";
import type { DayCurve } from "../../src/metrics/outlook.ts";
import { dayCurves } from "./store-lines.ts";
import type { StoreLine } from "./store-lines.ts";
import { PRIMARY_WINDOW_DAYS } from "./warnings.ts";

export type OutlookScore = {
  scope: "workspace" | "products";
  windowDays: number;
  /** Days since the end of the month. */
  ageDays: number;
  months: number;
  /** Mean absolute error of the rate, relative to that of the month so far. */
  errorRatio: number;
  /** Share of the months that the intervals held. */
  heldBy80: number;
  heldBy95: number;
};

const AGES_DAYS = [0, 15, 30, 45, 60];
const WINDOWS_DAYS = [30, 90];
const LEVELS = [0.8, 0.95];
const FEWEST_LINES = 100;
/** A product is scored when it sells a hundred lines in most months. */
const FEWEST_LINES_A_YEAR = 1200;

/** M18 for every month with a known outcome, as of days after the month's end. */
export function scoreOutlooks(lines: readonly StoreLine[]): OutlookScore[] {
  const products = Map.groupBy(
    lines.filter((line) => line.product_gid !== null && !line.used),
    (line) => line.product_gid,
  );
  const selections = {
    workspace: [lines],
    products: [...products.values()].filter((own) => own.length >= FEWEST_LINES_A_YEAR),
  };
  const lastDay = lines.reduce(
    (last, line) => Math.max(last, line.ordered_day + (line.lag_days.at(-1) ?? 0)),
    0,
  );
  const store = dayCurves(lines);
  return (["workspace", "products"] as const).flatMap((scope) =>
    WINDOWS_DAYS.flatMap((windowDays) =>
      AGES_DAYS.filter((age) => age < windowDays).flatMap((ageDays) => {
        const months = selections[scope].flatMap((own) =>
          scoredMonths({ store, own: dayCurves(own), windowDays, ageDays, lastDay }),
        );
        return months.length === 0 ? [] : [{ scope, windowDays, ageDays, ...summed(months) }];
      }),
    ),
  );
}

type Scored = { error: number; errorAsIs: number; isHeld: boolean[] };
type Question = {
  store: DayCurve[];
  own: DayCurve[];
  windowDays: number;
  ageDays: number;
  lastDay: number;
};

function scoredMonths({ store, own, windowDays, ageDays, lastDay }: Question): Scored[] {
  const scored: Scored[] = [];
  const firstMonth = monthOfDay(store[0]?.day ?? 0);
  for (let month = firstMonth; lastDayOfMonth(month) + windowDays <= lastDay; month += 1) {
    const asOfDay = lastDayOfMonth(month) + ageDays;
    const whole = own.filter(({ day }) => monthOfDay(day) === month);
    if (sum(whole, (day) => day.soldLines) < FEWEST_LINES) continue;
    const known = own.filter(({ day }) => day <= asOfDay).map((day) => knownBy(day, asOfDay));
    const model = outlookModel({
      asOfDay,
      horizonDays: horizonDays(Math.max(windowDays, PRIMARY_WINDOW_DAYS)),
      windowDays,
      curveDays: store.filter(({ day }) => day <= asOfDay).map((day) => knownBy(day, asOfDay)),
      ownDays: known,
    });
    if (model === null) continue;
    const now = known.filter(({ day }) => day >= firstDayOfMonth(month) && day <= lastDayOfMonth(month));
    const sold = sum(whole, (day) => day.soldUnits);
    const truth = sum(whole, (day) => unitsBy(day, windowDays));
    const outlook = outlookOf(model, now, LEVELS);
    scored.push({
      error: Math.abs(outlook.returnedUnits - truth) / sold,
      errorAsIs: Math.abs(sum(now, (day) => unitsBy(day, windowDays)) - truth) / sold,
      isHeld: outlook.intervals.map(({ low, high }) => truth >= low - 1e-9 && truth <= high + 1e-9),
    });
  }
  return scored;
}

function summed(months: readonly Scored[]) {
  const held = (place: number): number => months.filter(({ isHeld }) => isHeld[place]).length / months.length;
  return {
    months: months.length,
    errorRatio: sum(months, ({ error }) => error) / sum(months, ({ errorAsIs }) => errorAsIs),
    heldBy80: held(0),
    heldBy95: held(1),
  };
}

/** A day's curve as far as it was known on a day. */
export function knownBy(day: DayCurve, asOfDay: number): DayCurve {
  const places = day.lagDays.filter((lag) => day.day + lag <= asOfDay).length;
  return {
    ...day,
    lagDays: day.lagDays.slice(0, places),
    returnedUnits: day.returnedUnits.slice(0, places),
    returnedLines: day.returnedLines.slice(0, places),
  };
}

function sum<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

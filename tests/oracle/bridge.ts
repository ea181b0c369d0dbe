import { dayOf, lastDayOf } from "./calendar.ts";
import { comparedMonths } from "./coverage.ts";
import type { LedgerLine } from "./ledger.ts";
import { changeOf, nearest } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { countedMonths, isMonthComplete, windowDaysOf } from "./selection.ts";

type Steps = Record<string, number>;

/** M24: assigns every booked or returned unit, line by line, to its steps. */
export function bridgePart(question: Question) {
  const { store, ledger, selected, params } = question;
  const [first, last] = [String(params["start_month"]), String(params["end_month"])];
  const counted = countedMonths(store, params, first, last);
  const windowDays = windowDaysOf(store, params);
  const isIn = (day: number): boolean => day >= dayOf(`${first}-01`) && day <= lastDayOf(last);
  const steps: Steps = {
    left_out_orders: 0,
    order_edits: 0,
    canceled_before_fulfillment: 0,
    not_counted: 0,
    other_days: 0,
    other_cohorts: 0,
    later_returns: 0,
    beyond_window: 0,
    open_months: 0,
  };
  const take = (step: string, units: number): void => {
    steps[step] = (steps[step] ?? 0) + units;
  };
  let booked = 0;
  let returned = 0;
  let inMonths = 0;
  for (const line of ledger.lines.filter((each) => selected.holds(each))) {
    for (const { day, step, units } of bookedUnits(line)) {
      if (!isIn(day)) continue;
      booked += units;
      take(step, -units);
    }
    for (const unit of line.returned) {
      const ofRange = line.month >= first && line.month <= last;
      const isInside = windowDays === null || unit.lagDays <= windowDays;
      if (isIn(unit.day)) {
        inMonths += 1;
        take("other_days", 1);
        if (!ofRange) take("other_cohorts", -1);
      } else if (ofRange) take("later_returns", 1);
      if (ofRange && !isInside) take("beyond_window", -1);
      if (ofRange && isInside && !counted.includes(line.month)) take("open_months", -1);
      if (ofRange && isInside && counted.includes(line.month)) returned += 1;
    }
  }
  return {
    booked_units: booked,
    steps: Object.entries(steps).map(([step, units]) => ({ step, units: units || 0 })),
    returned_in_months_units: inMonths,
    returned_units: returned,
    rate_change: ratePart(question, counted, windowDays),
  };
}

/** Booked units with the step that they belong to; `other_days` subtracts what counts, on whatever day. */
export function bookedUnits(line: LedgerLine): { day: number; step: string; units: number }[] {
  const edits = line.booked.filter(({ kind }) => kind === "edit");
  const reversals = line.booked.filter(({ kind }) => kind === "reversal");
  const canceled = line.booked.filter(({ kind }) => kind === "cancel");
  if (!line.sells) {
    const all = [...edits, ...reversals];
    const left = line.placed - sumOf(all);
    if (line.canceledDay !== null && left > 0) all.push({ kind: "edit", day: line.canceledDay, units: left });
    return all.map(({ day, units }) => ({ day, units, step: "left_out_orders" }));
  }
  const days = new Map<number, number>();
  for (const { day, units } of reversals) days.set(day, (days.get(day) ?? 0) + units);
  for (const { day, units } of canceled) days.set(day, (days.get(day) ?? 0) - units);
  let tooMany = sumOf(reversals) - sumOf(canceled) - line.returnedOfLine;
  const rest = [];
  for (const [day, units] of [...days].toSorted(([left], [right]) => right - left)) {
    const uncounted = Math.max(0, Math.min(tooMany, units));
    tooMany -= uncounted;
    rest.push(
      { day, units: uncounted, step: "not_counted" },
      { day, units: units - uncounted, step: "other_days" },
    );
  }
  return [
    ...edits.map(({ day, units }) => ({ day, units, step: "order_edits" })),
    ...canceled.map(({ day, units }) => ({ day, units, step: "canceled_before_fulfillment" })),
    ...rest,
  ];
}

function sumOf(rows: readonly { units: number }[]): number {
  return rows.reduce((sum, { units }) => sum + units, 0);
}

/** M24: in whole numbers, product by product. */
function ratePart(question: Question, counted: readonly string[], windowDays: number | null) {
  const { store, ledger, selected, params } = question;
  const before = comparedMonths(store, params);
  if (before === null) return null;
  const lines = ledger.lines.filter((line) => selected.holds(line));
  const isInside = ({ lagDays }: { lagDays: number }): boolean =>
    windowDays === null || lagDays <= windowDays;
  const unitsOf = (of: readonly LedgerLine[]) => ({
    sold: of.reduce((sum, line) => sum + line.sold, 0),
    returned: of.flatMap((line) => line.returned).filter(isInside).length,
  });
  const byThen = (of: readonly LedgerLine[]): number =>
    of.flatMap((line) => {
      const pair = counted[before.indexOf(line.month)] ?? "";
      const isWhole = windowDays !== null && isMonthComplete(store, pair, windowDays);
      const shift = dayOf(`${pair}-01`) - dayOf(`${line.month}-01`);
      return line.returned.filter(
        (unit) => isInside(unit) && (isWhole || unit.day <= dayOf(store.as_of) - shift),
      );
    }).length;
  const now = lines.filter((line) => counted.includes(line.month));
  const base = lines.filter((line) => before.includes(line.month));
  const [period, compared] = [unitsOf(now), unitsOf(base)];
  const change = changeOf(period, compared);
  const timing = changeOf({ sold: compared.sold, returned: byThen(base) }, compared);
  if (change === null || timing === null) return null;

  /** Σ units of a product × its base rate, as a fraction. */
  let [top, bottom] = [0n, 1n];
  for (const productGid of new Set(now.map((line) => line.productGid))) {
    const ofProduct = (line: LedgerLine): boolean => line.productGid === productGid;
    const own = base.filter(ofProduct);
    const isNew = unitsOf(own).sold === 0;
    const [back, sold] = isNew ? [byThen(base), compared.sold] : [byThen(own), unitsOf(own).sold];
    const units = BigInt(unitsOf(now.filter(ofProduct)).sold);
    [top, bottom] = [top * BigInt(sold) + units * BigInt(back) * bottom, bottom * BigInt(sold)];
  }
  const [baseTop, baseBottom] = [BigInt(byThen(base)), BigInt(compared.sold)];
  const whole = bottom * BigInt(period.sold);
  const mix = nearest((top * baseBottom - baseTop * whole) * 1_000_000n, whole * baseBottom) / 1_000_000;
  const rate = Math.round((change - timing - mix) * 1_000_000) / 1_000_000;
  return { timing, mix, rate, return_rate_change: change };
}

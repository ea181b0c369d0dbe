import type { DayCurve } from "../src/metrics/outlook.ts";
import type { StoreLine } from "./store-lines.ts";

/** The days of lines, oldest first. */
export function dayCurves(lines: readonly StoreLine[]): DayCurve[] {
  return [...Map.groupBy(lines, (line) => line.ordered_day)]
    .toSorted(([left], [right]) => left - right)
    .map(([day, ordered]) => {
      const steps = new Map<number, { units: number; lines: number }>();
      for (const { lag_days: lags, returned_units: units } of ordered) {
        for (const [place, lag] of lags.entries()) {
          const step = steps.get(lag) ?? { units: 0, lines: 0 };
          step.units += units[place] as number;
          step.lines += place === 0 ? 1 : 0;
          steps.set(lag, step);
        }
      }
      const lagDays = [...steps.keys()].toSorted((left, right) => left - right);
      let units = 0;
      let returned = 0;
      return {
        day,
        soldUnits: ordered.reduce((sum, line) => sum + line.sold_units, 0),
        soldLines: ordered.length,
        lagDays,
        returnedUnits: lagDays.map((lag) => (units += steps.get(lag)?.units ?? 0)),
        returnedLines: lagDays.map((lag) => (returned += steps.get(lag)?.lines ?? 0)),
      };
    });
}

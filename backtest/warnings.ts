import { horizonDays } from "../src/metrics/age-curve.ts";
import { findEarlyWarnings } from "../src/metrics/early-warning.ts";
import type { EarlyWarning } from "../src/metrics/early-warning.ts";
import { lastDayOfMonth, monthOfDay } from "../src/lib/month.ts";
import { findSpike } from "../src/metrics/spike.ts";
import { announceWarnings } from "../src/metrics/warning-episode.ts";
import type { AnnouncedWarning as Announced, WarningEpisode } from "../src/metrics/warning-episode.ts";
import { storeHistory } from "./evidence.ts";
import type { StoreLine } from "./store-lines.ts";

export const PRIMARY_WINDOW_DAYS = 30;
export const MIN_SOLD_UNITS = 20;
const SPIKE_MONTHS_AFTER = 3;

export type AnnouncedWarning = Announced & {
  asOfDay: number;
  /** The day from which M16 calls a month of the same entity a spike; null when it does not within three months. */
  spikeDay: number | null;
};

export type WarningReplay = {
  days: number;
  announced: AnnouncedWarning[];
  /** Entities that sold something in 56 days, added up over the days, in months of 30 days. */
  entityMonths: number;
};

/** Evaluates M17 on every day from `fromDay` to `toDay`, knowing on each only what was known by then. */
export function replayWarnings(
  lines: readonly StoreLine[],
  { fromDay, toDay }: { fromDay: number; toDay: number },
): WarningReplay {
  const horizon = horizonDays(PRIMARY_WINDOW_DAYS);
  const history = storeHistory(lines);
  const known = new Map<string, WarningEpisode>();
  const announced: AnnouncedWarning[] = [];
  let entityDays = 0;
  for (let day = fromDay; day <= toDay; day += 1) {
    const evidence = history.evidenceAt(day, horizon);
    entityDays += countSellers(evidence.listings);
    const warned = announceWarnings(findEarlyWarnings(evidence, horizon), [...known.values()], day);
    for (const episode of warned.episodes) known.set(`${episode.kind} ${episode.key}`, episode);
    for (const warning of warned.announced) {
      announced.push({ ...warning, asOfDay: day, spikeDay: spikeDayOf(lines, warning, day) });
    }
  }
  return { days: toDay - fromDay + 1, announced, entityMonths: entityDays / 30 };
}

function countSellers(
  listings: ReturnType<ReturnType<typeof storeHistory>["evidenceAt"]>["listings"],
): number {
  const sellers = new Set<string>();
  for (const { sku, productGid, used, family, category, recent } of listings) {
    if (recent.lines.length === 0) continue;
    if (sku !== null) sellers.add(`sku ${sku}`);
    if (productGid !== null && !used) sellers.add(`product ${productGid}`);
    if (family !== null) sellers.add(`family ${family}`);
    if (category !== null) sellers.add(`category ${category}`);
  }
  return sellers.size;
}

/** M16 for the same entity, as if it were watched and its units independent. */
function spikeDayOf(lines: readonly StoreLine[], warning: EarlyWarning, asOfDay: number): number | null {
  const own = lines.filter((line) => isOf(line, warning));
  const units = new Map<number, { soldUnits: number; returnedUnits: number }>();
  for (const line of own) {
    const month = units.get(monthOfDay(line.ordered_day)) ?? { soldUnits: 0, returnedUnits: 0 };
    month.soldUnits += line.sold_units;
    for (const [place, lag] of line.lag_days.entries()) {
      if (lag <= PRIMARY_WINDOW_DAYS) month.returnedUnits += line.returned_units[place] as number;
    }
    units.set(monthOfDay(line.ordered_day), month);
  }
  const firstMonth = monthOfDay(asOfDay - warning.windowDays + 1);
  for (let newest = firstMonth; newest <= firstMonth + SPIKE_MONTHS_AFTER; newest += 1) {
    const months = Array.from({ length: 7 }, (_, place) => {
      const cohortMonth = newest - 6 + place;
      return {
        cohortMonth,
        isComplete: true,
        ...(units.get(cohortMonth) ?? { soldUnits: 0, returnedUnits: 0 }),
      };
    });
    if (findSpike(months, MIN_SOLD_UNITS, 1) !== null)
      return lastDayOfMonth(newest) + PRIMARY_WINDOW_DAYS + 1;
  }
  return null;
}

function isOf(line: StoreLine, { kind, key }: EarlyWarning): boolean {
  switch (kind) {
    case "sku":
      return line.sku === key;
    case "product":
      return line.product_gid === key && !line.used;
    case "family":
      return line.family === key;
    case "analytics_category":
      return line.analytics_category === key;
  }
}

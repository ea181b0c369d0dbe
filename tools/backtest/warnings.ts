import { lastDayOfMonth, monthOfDay } from "../../src/lib/month.ts";
import { horizonDays, BASE_DAYS } from "../../src/metrics/age-curve.ts";
import { findEarlyWarnings, RECENT_DAYS } from "../../src/metrics/early-warning.ts";
import type { EarlyWarning, ListingLines, StoreEvidence } from "../../src/metrics/early-warning.ts";
import { findSpike } from "../../src/metrics/spike.ts";
import { announceWarnings } from "../../src/metrics/warning-episode.ts";
import type { AnnouncedWarning as Announced, WarningEpisode } from "../../src/metrics/warning-episode.ts";
import type { StoreLine } from "./store-lines.ts";

export const PRIMARY_WINDOW_DAYS = 30;
export const MIN_SOLD_UNITS = 20;
const SPIKE_MONTHS_AFTER = 3;

type AnnouncedWarning = Announced & {
  asOfDay: number;
  /** The first day on which M16 reports a spike of the same entity; null if there is none within three months. */
  spikeDay: number | null;
};

type WarningReplay = {
  days: number;
  announced: AnnouncedWarning[];
  /** Entities with sales in 56 days, summed over the days and divided by 30. */
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

function countSellers(listings: StoreEvidence["listings"]): number {
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

/** M16 for the same entity, as if it were watched and its units were independent. */
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

/** Lines of a listing by order day, with the days to return and the orders of those that came back. */
type ListingDays = Omit<ListingLines, "base" | "recent"> & {
  days: { day: number; lines: number; lagDays: number[]; orders: string[] }[];
};

/**
 * What an evaluation would have read on any past day; `lines` are sorted oldest first, days count from 1970-01-01. The same
 * evidence as queries/early-warning.ts loads; tests/early-warning.pg.test.ts compares them.
 */
export function storeHistory(lines: readonly StoreLine[]) {
  const listings = new Map<string, ListingDays>();
  for (const line of lines) {
    const id = JSON.stringify([line.sku, line.product_gid, line.used]);
    let listing = listings.get(id);
    if (listing === undefined) {
      listing = {
        sku: line.sku,
        productGid: line.product_gid,
        used: line.used,
        family: line.family,
        category: line.analytics_category,
        days: [],
      };
      listings.set(id, listing);
    }
    let day = listing.days.at(-1);
    if (day?.day !== line.ordered_day) {
      day = { day: line.ordered_day, lines: 0, lagDays: [], orders: [] };
      listing.days.push(day);
    }
    day.lines += 1;
    const lag = line.lag_days[0];
    if (lag !== undefined) {
      day.lagDays.push(lag);
      day.orders.push(line.order_id);
    }
  }
  const soldDays = [...new Set(lines.map((line) => line.ordered_day))];
  return {
    evidenceAt: (asOfDay: number, horizon: number): StoreEvidence => ({
      listings: [...listings.values()].flatMap((listing) => evidenceOf(listing, asOfDay, horizon) ?? []),
      baseSoldDays: soldDays.filter((day) => day < asOfDay - horizon && day >= asOfDay - horizon - BASE_DAYS)
        .length,
    }),
  };
}

function evidenceOf(
  { days, ...listing }: ListingDays,
  asOfDay: number,
  horizon: number,
): ListingLines | null {
  const baseBefore = asOfDay - horizon;
  const base = { lines: 0, lagDays: [] as number[], returnedLines: [] as number[] };
  const recent = {
    ageDays: [] as number[],
    lines: [] as number[],
    returnedAgeDays: [] as number[],
    returnedOrders: [] as string[],
  };
  for (let position = firstFrom(days, baseBefore - BASE_DAYS); position < days.length; position += 1) {
    const { day, lines, lagDays, orders } = days[position] as ListingDays["days"][number];
    if (day > asOfDay) break;
    if (day < baseBefore) {
      base.lines += lines;
      base.lagDays.push(...lagDays);
      base.returnedLines.push(...lagDays.map(() => 1));
    } else if (day > asOfDay - RECENT_DAYS) {
      recent.ageDays.push(asOfDay - day);
      recent.lines.push(lines);
      for (const [place, order] of orders.entries()) {
        if (day + (lagDays[place] as number) > asOfDay) continue;
        recent.returnedAgeDays.push(asOfDay - day);
        recent.returnedOrders.push(order);
      }
    }
  }
  return base.lines === 0 && recent.lines.length === 0 ? null : { ...listing, base, recent };
}

/** The first of the days that is not before `day`. */
function firstFrom(days: ListingDays["days"], day: number): number {
  let low = 0;
  let high = days.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((days[middle] as ListingDays["days"][number]).day < day) low = middle + 1;
    else high = middle;
  }
  return low;
}

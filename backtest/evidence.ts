import { BASE_DAYS } from "../src/metrics/age-curve.ts";
import { RECENT_DAYS } from "../src/metrics/early-warning.ts";
import type { ListingLines, StoreEvidence } from "../src/metrics/early-warning.ts";
import type { StoreLine } from "./store-lines.ts";

/** Lines of a listing by order day, and of those that came back the days after the order and the order. */
type ListingDays = Omit<ListingLines, "base" | "recent"> & {
  days: { day: number; lines: number; lagDays: number[]; orders: string[] }[];
};

/** What an evaluation would have read on any day of the past; days count from 1970-01-01. */
export type StoreHistory = {
  firstDay: number;
  lastDay: number;
  evidenceAt(asOfDay: number, horizon: number): StoreEvidence;
};

/** A history of lines, oldest first. The same evidence as queries/early-warning.ts loads; tests/backtest compares them. */
export function storeHistory(lines: readonly StoreLine[]): StoreHistory {
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
  const lastEvent = (line: StoreLine): number => line.ordered_day + (line.lag_days.at(-1) ?? 0);
  return {
    firstDay: lines[0]?.ordered_day ?? 0,
    lastDay: lines.reduce((last, line) => Math.max(last, lastEvent(line)), 0),
    evidenceAt: (asOfDay, horizon) => ({
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

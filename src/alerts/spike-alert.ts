import { monthsBetween, monthToText } from "../lib/month.ts";
import { compareRates } from "../metrics/rate.ts";
import { findSpike } from "../metrics/spike.ts";
import type { Spike } from "../metrics/spike.ts";
import type { AlertDraft } from "./alert-draft.ts";
import { daysText, percentText, readableName, unitsText } from "./wording.ts";

export type WatchedEntity = {
  kind: "sku" | "product" | "family" | "analytics_category";
  key: string;
  /** What a product is called; null for other kinds. */
  title: string | null;
  /** Months that sold something, in the primary window, in any order. */
  months: readonly { cohortMonth: number; soldUnits: number; returnedUnits: number }[];
};

export type SpikeSettings = {
  /** M5: the newest month that is complete for the primary window. */
  newestMonth: number;
  /** The first month in which the workspace sold anything: before it there is nothing to compare with. */
  firstMonth: number;
  minSoldUnits: number;
  primaryWindowDays: number;
};

/** How many months a spike is judged by: the newest complete one and its baseline. */
export const SPIKE_MONTHS = 7;

const CRITICAL_RETURNED_UNITS = 10;

/**
 * M16: the alert for a watched entity whose newest complete month is a spike; null when it is none. A month without
 * a row sold nothing. Critical: at least twice the baseline, and at least 10 units came back.
 */
export function spikeAlert(entity: WatchedEntity, settings: SpikeSettings): AlertDraft | null {
  const { newestMonth, firstMonth, minSoldUnits, primaryWindowDays } = settings;
  const sold = new Map(entity.months.map((month) => [month.cohortMonth, month]));
  const judged = monthsBetween(Math.max(firstMonth, newestMonth - SPIKE_MONTHS + 1), newestMonth);
  const spike = findSpike(
    judged.map((cohortMonth) => ({
      ...(sold.get(cohortMonth) ?? { cohortMonth, soldUnits: 0, returnedUnits: 0 }),
      isComplete: true,
    })),
    minSoldUnits,
  );
  if (spike === null) return null;
  const month = monthToText(spike.cohortMonth);
  return {
    eventKey: `spike:${entity.kind}:${entity.key}:${month}`,
    category: "return_rate_watchlist",
    severity: isCritical(spike) ? "critical" : "warning",
    title: `Return rate of ${nameOf(entity)} jumped to ${percentText(spike.returnRate)} in ${month}`,
    body:
      `${spike.returnedUnits.toLocaleString("en")} of ${unitsText(spike.soldUnits)} sold in ${month} came back ` +
      `within ${daysText(primaryWindowDays)}. In the six months before it was ` +
      `${percentText(spike.baselineRate)} of ${unitsText(spike.baselineSoldUnits)}.`,
    metadata: {
      ...selectorOf(entity),
      cohort_month: month,
      sold_units: spike.soldUnits,
      returned_units: spike.returnedUnits,
      return_rate: spike.returnRate,
      baseline_rate: spike.baselineRate,
    },
  };
}

function isCritical(spike: Spike): boolean {
  const { soldUnits, returnedUnits, baselineSoldUnits, baselineReturnedUnits } = spike;
  // Twice the baseline is compared exactly, as half the rate.
  const isDouble = compareRates(returnedUnits, soldUnits * 2, baselineReturnedUnits, baselineSoldUnits) >= 0;
  return isDouble && returnedUnits >= CRITICAL_RETURNED_UNITS;
}

function nameOf({ kind, key, title }: WatchedEntity): string {
  switch (kind) {
    case "sku":
      return readableName(key);
    case "product":
      return readableName(title ?? key);
    case "family":
      return `the family ${readableName(key)}`;
    case "analytics_category":
      return `the category ${readableName(key)}`;
  }
}

/** The members are parameters of every endpoint that takes a selector. */
function selectorOf({ kind, key }: WatchedEntity): Record<string, string> {
  switch (kind) {
    case "sku":
      return { sku: key };
    case "product":
      return { product_gid: key };
    case "family":
    case "analytics_category":
      return { product_group_type: kind, product_group_key: key };
  }
}

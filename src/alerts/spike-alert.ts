import { dayToText, firstDayOfMonth, lastDayOfMonth, monthsBetween, monthToText } from "../lib/month.ts";
import { compareRates } from "../metrics/rate.ts";
import { findSpike, type Spike } from "../metrics/spike.ts";
import type { AlertDraft } from "../store/queries/publish.ts";
import type { OpenEpisodeRow } from "../store/queries/alerts.ts";
import { episodeOfSpike } from "./episodes.ts";
import { nameOf, selectorOf, daysText, percentText, unitsText, dayWords, monthWords } from "./wording.ts";
import type { WarnedEntity } from "./wording.ts";

export type WatchedEntity = WarnedEntity & {
  /** M17: the first day of its newest episode of early warnings; null = it was never warned of. */
  warnedDay: number | null;
  /** Of the problem of its newest early warnings. */
  episodeId: string | null;
  /** M6: the design effect, which widens the interval of its rate. */
  effect: number;
  /** Months that sold something, in the primary window, in any order. */
  months: readonly { cohortMonth: number; soldUnits: number; returnedUnits: number }[];
};

type SpikeSettings = {
  /** M5: the newest month that is complete for the primary window. */
  newestMonth: number;
  /** The first month in which the workspace sold anything: before it there is nothing to compare with. */
  firstMonth: number;
  minSoldUnits: number;
  primaryWindowDays: number;
  /** Announced and not yet ended. */
  open: readonly OpenEpisodeRow[];
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
    entity.effect,
  );
  if (spike === null) return null;
  const month = monthToText(spike.cohortMonth);
  const warnedOn = earlyWarningOf(entity, spike.cohortMonth, primaryWindowDays);
  return {
    eventKey: `spike:${entity.kind}:${entity.key}:${month}`,
    category: "return_rate_watchlist",
    severity: isCritical(spike) ? "critical" : "warning",
    title: `Return rate of ${nameOf(entity)} jumped to ${percentText(spike.returnedUnits, spike.soldUnits)} in ${monthWords(month)}`,
    body:
      `${spike.returnedUnits.toLocaleString("en")} of ${unitsText(spike.soldUnits)} sold in ${monthWords(month)} came back ` +
      `within ${daysText(primaryWindowDays)}. In the six months before it was ` +
      `${percentText(spike.baselineReturnedUnits, spike.baselineSoldUnits)} of ${unitsText(spike.baselineSoldUnits)}.` +
      (warnedOn === null ? "" : ` An early warning was given on ${dayWords(warnedOn)}.`),
    metadata: {
      kind: "month",
      ...selectorOf(entity),
      cohort_month: month,
      sold_units: spike.soldUnits,
      returned_units: spike.returnedUnits,
      return_rate: spike.returnRate,
      baseline_rate: spike.baselineRate,
      early_warning_on: warnedOn,
      ...episodeOfSpike(entity, spike.cohortMonth, settings.open),
    },
  };
}

/** The day of an early warning about the month's sales; null: none before the month's window closed. */
function earlyWarningOf(
  { warnedDay }: WatchedEntity,
  cohortMonth: number,
  windowDays: number,
): string | null {
  if (warnedDay === null || warnedDay < firstDayOfMonth(cohortMonth)) return null;
  return warnedDay <= lastDayOfMonth(cohortMonth) + windowDays ? dayToText(warnedDay) : null;
}

function isCritical(spike: Spike): boolean {
  const { soldUnits, returnedUnits, baselineSoldUnits, baselineReturnedUnits } = spike;
  // Twice the baseline is compared exactly, as half the rate.
  const isDouble = compareRates(returnedUnits, soldUnits * 2, baselineReturnedUnits, baselineSoldUnits) >= 0;
  return isDouble && returnedUnits >= CRITICAL_RETURNED_UNITS;
}

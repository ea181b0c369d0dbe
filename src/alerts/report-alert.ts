import { monthToText } from "../lib/month.ts";
import type { AlertDraft } from "../store/queries/publish.ts";
import { daysText, percentText, unitsText, monthWords } from "./wording.ts";

type ReportMonth = { cohortMonth: number; soldUnits: number; returnedUnits: number };

type ReportSettings = {
  /** The newest month that was announced already; null = none ever was. */
  announcedMonth: number | null;
  primaryWindowDays: number;
};

/**
 * M5: one alert for each month that became complete for the primary window since the newest announced one. The first time only
 * the newest, so that years of history raise one alert. `months`: complete months with sales, oldest first; others have nothing
 * to report.
 */
export function reportAlerts(months: readonly ReportMonth[], settings: ReportSettings): AlertDraft[] {
  const { announcedMonth, primaryWindowDays } = settings;
  const fresh =
    announcedMonth === null
      ? months.slice(-1)
      : months.filter(({ cohortMonth }) => cohortMonth > announcedMonth);
  return fresh.map(({ cohortMonth, soldUnits, returnedUnits }) => {
    const month = monthToText(cohortMonth);
    return {
      eventKey: `report_ready:${month}`,
      category: "report_ready",
      severity: "info",
      title: `The report of ${monthWords(month)} is ready`,
      body:
        `${returnedUnits.toLocaleString("en")} of ${unitsText(soldUnits)} sold in ${monthWords(month)} ` +
        `(${percentText(returnedUnits, soldUnits)}) came back within ${daysText(primaryWindowDays)}.`,
      metadata: { cohort_month: month },
    };
  });
}

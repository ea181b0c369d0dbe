import type { ReportLiability } from "../contract/report.ts";
import { dayToText, monthToDate } from "../lib/month.ts";
import { LIABILITY_MONTHS, liabilityOf, refundRate, sumLiabilities } from "../metrics/liability.ts";
import type { Liability, ReturnedMonth } from "../metrics/liability.ts";
import { latestCompleteMonth } from "../metrics/completeness.ts";
import { currencyExponent, decimalFromMinor } from "../metrics/money.ts";
import { sumOutlooks } from "../metrics/outlook.ts";
import type { Queryable } from "../store/database.ts";
import { loadReturnedMonths } from "../store/queries/outlook.ts";
import type { ReturnedMonthRow } from "../store/queries/outlook.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import type { CohortRange } from "./cohort-months.ts";
import { OUTLOOK_LEVEL, loadMonthOutlooks } from "./report-outlook.ts";

/** M21: refunds still to come for the open months of a range, included or not; null where there is no outlook. */
export async function loadLiability(
  database: Queryable,
  workspace: Workspace,
  { range, selection }: { range: CohortRange; selection: Selection },
): Promise<ReportLiability | null> {
  const { asOfDay, windowDays } = range;
  if (asOfDay === null || windowDays === null) return null;
  const newest = latestCompleteMonth(windowDays, asOfDay);
  if (newest === null) return null;
  const outlooks = await loadMonthOutlooks(database, workspace, {
    range: { ...range, startMonth: Math.max(range.startMonth, newest + 1), includeIncomplete: true },
    selection,
  });
  const { own, category, store } = await loadReturnedMonths(database, workspace, {
    selection,
    windowDays,
    startMonth: newest - LIABILITY_MONTHS + 1,
    endMonth: newest,
  });
  const rate = refundRate(own.map(monthOf), category.map(monthOf), store.map(monthOf));
  if (outlooks === null || rate === null) return null;
  const exponent = currencyExponent(workspace.currencyCode);
  const months = [...outlooks].filter(([, outlook]) => outlook.soldUnits > 0);
  const liabilities = months.map(([, outlook]) => liabilityOf(outlook, rate));
  const together = sumOutlooks(
    months.map(([, outlook]) => outlook),
    [OUTLOOK_LEVEL],
  );
  return {
    as_of: dayToText(asOfDay),
    level: OUTLOOK_LEVEL,
    unit_refund_amount: decimalFromMinor(Math.round(rate.refundMinorPerUnit), exponent),
    low_evidence: rate.isLowEvidence,
    ...present(sumLiabilities(liabilities, liabilityOf(together, rate)), exponent),
    months: liabilities.map((liability, place) => ({
      cohort_month: monthToDate((months[place] as (typeof months)[number])[0]),
      ...present(liability, exponent),
    })),
  };
}

function monthOf(row: ReturnedMonthRow): ReturnedMonth {
  return {
    returnedUnits: row.returned_units,
    refundMinor: row.refund_minor,
    restockedCostMinor: row.restocked_cost_minor,
    costedReturnedUnits: row.costed_returned_units,
  };
}

function present(
  { expectedUnits, refundMinor, lowMinor, highMinor, goodsMinor }: Liability,
  exponent: number,
) {
  return {
    expected_units: expectedUnits,
    refund_amount: decimalFromMinor(refundMinor, exponent),
    low_amount: decimalFromMinor(lowMinor, exponent),
    high_amount: decimalFromMinor(highMinor, exponent),
    goods_cost: goodsMinor === null ? null : decimalFromMinor(goodsMinor, exponent),
  };
}

import { amountOf, rateOf } from "./numbers.ts";
import type { Question } from "./oracle.ts";
import { countedMonths, windowDaysOf } from "./selection.ts";

/** M23, unit by unit. Imports have no refunds without units, so that figure is 0. */
export function outcomesPart({ store, ledger, selected, params }: Question) {
  const [first, last] = [String(params["start_month"]), String(params["end_month"])];
  const months = countedMonths(store, params, first, last);
  const windowDays = windowDaysOf(store, params);
  const isInside = ({ lagDays }: { lagDays: number }): boolean =>
    windowDays === null || lagDays <= windowDays;
  const sums = {
    exchange: { units: 0, refunded: 0, kept: 0 },
    refund: { units: 0, refunded: 0, kept: 0 },
    other: { units: 0, refunded: 0, kept: 0 },
  };
  for (const line of ledger.lines.filter((each) => selected.holds(each) && months.includes(each.month))) {
    const seen = new Map<string, number>();
    for (const unit of line.returned) {
      const request = line.returnTerms.find(({ returnId }) => returnId === unit.returnId);
      const place = seen.get(request?.returnId ?? "") ?? 0;
      if (request !== undefined) seen.set(request.returnId, place + 1);
      if (!isInside(unit)) continue;
      const isPaid = request === undefined || place < request.refundedUnits;
      const outcome = request?.isExchange ? "exchange" : isPaid ? "refund" : "other";
      sums[outcome].units += 1;
      if (outcome === "exchange" && place === 0) sums.exchange.kept += request?.keptMinor ?? 0;
    }
    for (const refund of line.refunds.filter(isInside)) {
      const request = line.returnTerms.find(({ returnId }) => returnId === refund.returnId);
      sums[request?.isExchange ? "exchange" : "refund"].refunded += refund.minor;
    }
  }
  const all = sums.exchange.units + sums.refund.units + sums.other.units;
  const { currency_code: currency } = store.settings;
  return {
    rows: Object.entries(sums).map(([outcome, { units, refunded, kept }]) => ({
      outcome,
      returned_units: units,
      share: rateOf(units, all),
      refunded_amount: amountOf(refunded, currency),
      kept_amount: amountOf(kept, currency),
    })),
    unattributed_refund_amount: selected.isNarrowed ? null : 0,
  };
}

import { decimalFromMinor } from "../metrics/money.ts";
import { share } from "../metrics/rate.ts";
import { refundShare, type Totals } from "../metrics/totals.ts";

/** M20: the value of the units sold, as far as it is known, and the refunded share. */
export function presentSoldValue(
  totals: Pick<Totals, "soldUnits" | "valuedSoldUnits" | "soldMinor" | "refundMinor">,
  currencyExponent: number,
) {
  const { soldUnits, valuedSoldUnits, soldMinor } = totals;
  return {
    sold_amount:
      soldUnits > 0 && valuedSoldUnits === 0 ? null : decimalFromMinor(soldMinor, currencyExponent),
    sold_amount_coverage: share(valuedSoldUnits, soldUnits),
    refund_share: refundShare(totals),
  };
}

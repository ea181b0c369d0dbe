import { catalogueOf, resolveLine } from "./catalogue.ts";
import type { Catalogue, ResolvedLine } from "./catalogue.ts";
import { dayOf, lagOf, monthOf } from "./calendar.ts";
import { splitLabels } from "./labels.ts";
import type { UnmatchedLabel } from "./labels.ts";
import { byCodePoint, minorOf } from "./numbers.ts";
import type { OrderLineRow, RefundRow, ReturnRow, ReturnStatus, Store } from "./store.ts";

/** M8: why a unit came back; only the kind tells a stated "refund_only" from none at all. */
export type Reason = { kind: "stated" | "refund_only" | "unspecified"; reason: string };

const REFUND_ONLY: Reason = { kind: "refund_only", reason: "refund_only" };
const UNSPECIFIED: Reason = { kind: "unspecified", reason: "unspecified" };

/** What became of one order line; money in minor units. One entry of `returned` is one unit. */
export type LedgerLine = ResolvedLine & {
  orderId: string;
  lineId: string;
  orderedDay: number;
  month: string;
  sold: number;
  returned: { lagDays: number; reason: Reason }[];
  refunds: { lagDays: number; units: number; restockedUnits: number; minor: number }[];
  requests: { returnId: string; status: ReturnStatus; units: number }[];
  labels: { lagDays: number; minor: number }[];
};

export type Ledger = {
  lines: LedgerLine[];
  catalogue: Catalogue;
  labelCostsIncluded: boolean;
  unmatchedLabels: UnmatchedLabel[];
};

/** Books every row of a store, one unit at a time. Rows of the same key replace earlier ones. */
export function ledgerOf(store: Store): Ledger {
  const { files, settings } = store;
  const orderLines = latestRows(files.order_lines, (row) => [row.order_id, row.line_id]);
  const returns = latestRows(files.returns ?? [], (row) => [row.return_id, row.order_id, row.line_id]);
  const refunds = latestRows(files.refunds ?? [], (row) => [row.refund_id, row.order_id, row.line_id]);
  const catalogue = catalogueOf(
    {
      products: latestRows(files.products ?? [], (row) => [row.product_id]),
      variants: latestRows(files.variants ?? [], (row) => [row.variant_id]),
      orderLines,
    },
    settings.currency_code,
  );
  const isOf = (line: OrderLineRow) => (row: { order_id: string; line_id: string }) =>
    row.order_id === line.order_id && row.line_id === line.line_id;
  const lines = orderLines.map((line) =>
    bookLine(line, returns.filter(isOf(line)), refunds.filter(isOf(line)), {
      resolved: resolveLine(catalogue, line),
      currencyCode: settings.currency_code,
    }),
  );
  const labels = files.return_labels && latestRows(files.return_labels, (row) => [row.label_id]);
  const spend = (labels ?? []).filter((label) => label.voided_at === undefined);
  const currencies = spend.map((label) => label.currency ?? settings.currency_code);
  return {
    lines,
    catalogue,
    labelCostsIncluded:
      labels !== undefined && currencies.every((currency) => currency === settings.currency_code),
    unmatchedLabels: splitLabels(labels ?? [], lines, settings.currency_code),
  };
}

/** M2: processed units if the platform reports them, else requested ones. */
function unitsOf(row: ReturnRow): number {
  return row.processed_units ?? row.units;
}

function bookLine(
  row: OrderLineRow,
  returns: readonly ReturnRow[],
  allRefunds: readonly RefundRow[],
  { resolved, currencyCode }: { resolved: ResolvedLine; currencyCode: string },
): LedgerLine {
  const orderedDay = dayOf(row.ordered_at);
  const line: LedgerLine = {
    ...resolved,
    orderId: row.order_id,
    lineId: row.line_id,
    orderedDay,
    month: monthOf(orderedDay),
    sold: soldUnits(row, allRefunds),
    returned: [],
    refunds: [],
    requests: [],
    labels: [],
  };
  if (line.sold === 0) return line;
  const refunds = allRefunds.filter((refund) => refund.restock_type !== "CANCEL");
  const refundedUnits = walkThroughTime(line, returns, refunds);
  for (const refund of refunds) {
    const units = refundedUnits.get(refund.refund_id) ?? refund.units;
    const isRestocked = refund.restock_type === "RETURN" || refund.restock_type === "LEGACY_RESTOCK";
    line.refunds.push({
      lagDays: lagOf(line, refund.refunded_at),
      units,
      restockedUnits: isRestocked ? units : 0,
      minor: minorOf(refund.subtotal, currencyCode),
    });
  }
  for (const request of returns) {
    line.requests.push({ returnId: request.return_id, status: request.status, units: unitsOf(request) });
  }
  return line;
}

/** M1. */
function soldUnits(row: OrderLineRow, refunds: readonly RefundRow[]): number {
  if (row.test === true || row.gift_card === true || row.canceled_at !== undefined) return 0;
  let units = row.units - (row.removed_units ?? 0);
  for (const refund of refunds) if (refund.restock_type === "CANCEL") units -= refund.units;
  return Math.max(0, units);
}

/**
 * M2, M8: visits every instant at which something happened and marks units as returned one after the other, while
 * there are any left. Returns how many units each refund linked to no return of this line found.
 */
function walkThroughTime(
  line: LedgerLine,
  returns: readonly ReturnRow[],
  refunds: readonly RefundRow[],
): Map<string, number> {
  const takeUnit = (instant: number, reason: Reason): boolean => {
    if (line.returned.length === line.sold) return false;
    line.returned.push({ lagDays: lagOf(line, new Date(instant).toISOString()), reason });
    return true;
  };
  const isLinked = (refund: RefundRow): boolean => returns.some((row) => row.return_id === refund.return_id);
  const counted = new Map<string, number>();
  const foundUnits = new Map<string, number>();
  for (const instant of instantsOf(returns, refunds)) {
    for (const row of returns.toSorted((left, right) => byCodePoint(left.return_id, right.return_id))) {
      const isClosed = row.status === "CLOSED" && row.closed_at !== undefined;
      const closed = isClosed && Date.parse(row.closed_at ?? "") <= instant ? unitsOf(row) : 0;
      let refunded = 0;
      for (const refund of refunds) {
        if (refund.return_id === row.return_id && Date.parse(refund.refunded_at) <= instant) {
          refunded += refund.units;
        }
      }
      for (let unit = counted.get(row.return_id) ?? 0; unit < Math.max(closed, refunded); unit++) {
        takeUnit(instant, reasonOf(row));
        counted.set(row.return_id, unit + 1);
      }
    }
    for (const refund of refunds.toSorted((left, right) => byCodePoint(left.refund_id, right.refund_id))) {
      if (isLinked(refund) || Date.parse(refund.refunded_at) !== instant) continue;
      let found = 0;
      for (let unit = 0; unit < refund.units; unit++) if (takeUnit(instant, REFUND_ONLY)) found += 1;
      foundUnits.set(refund.refund_id, found);
    }
  }
  return foundUnits;
}

function reasonOf(row: ReturnRow): Reason {
  const text = row.reason?.trim() ?? "";
  return text === "" ? UNSPECIFIED : { kind: "stated", reason: text };
}

function instantsOf(returns: readonly ReturnRow[], refunds: readonly RefundRow[]): number[] {
  const texts = [
    ...returns.flatMap((row) => (row.closed_at === undefined ? [] : [row.closed_at])),
    ...refunds.map((refund) => refund.refunded_at),
  ];
  return [...new Set(texts.map((text) => Date.parse(text)))].toSorted((left, right) => left - right);
}

function latestRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string[]): Row[] {
  const byKey = new Map<string, Row>();
  for (const row of rows) byKey.set(JSON.stringify(keyOf(row)), row);
  return [...byKey.values()];
}

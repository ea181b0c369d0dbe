import { catalogueOf, resolveLine, type OracleCatalogue, type ResolvedLine } from "./catalogue.ts";
import { dayOf, lagOf, monthOf } from "./calendar.ts";
import { splitLabels, type UnmatchedLabel } from "./labels.ts";
import { byCodePoint, minorOf, nearest } from "./numbers.ts";
import type { OrderLineRow, RefundRow, ReturnRow, OracleReturnStatus, OracleStore } from "./store.ts";

/** M8: why a unit came back; the kind distinguishes a stated "refund_only" from the derived one. */
export type Reason = { kind: "stated" | "refund_only" | "unspecified"; reason: string };

const REFUND_ONLY: Reason = { kind: "refund_only", reason: "refund_only" };
const UNSPECIFIED: Reason = { kind: "unspecified", reason: "unspecified" };

/** The units of an order line that were sold on one day, and their returns; money in minor units. One entry of `returned` is one unit. */
export type LedgerLine = ResolvedLine & {
  orderId: string;
  lineId: string;
  orderedDay: number;
  month: string;
  sold: number;
  /** M20; null = unknown. */
  soldMinor: number | null;
  /** `returnId` null: of a refund linked to no return of the line. */
  returned: { lagDays: number; day: number; reason: Reason; returnId: string | null }[];
  refunds: {
    lagDays: number;
    units: number;
    restockedUnits: number;
    minor: number;
    returnId: string | undefined;
  }[];
  returnTerms: { returnId: string; isExchange: boolean; keptMinor: number; refundedUnits: number }[];
  /** Whether it may sell at all (M1), what was placed, and the day of its cancellation. */
  sells: boolean;
  placed: number;
  canceledDay: number | null;
  /** What the source takes back by day; reversals with restock type CANCEL are included twice, also as `cancel`. */
  booked: { day: number; kind: "edit" | "reversal" | "cancel"; units: number }[];
  /** On the entry of the line's first day: the returned units of all its days. */
  returnedOfLine: number;
  requests: { returnId: string; status: OracleReturnStatus; units: number }[];
  labels: { lagDays: number; minor: number }[];
};

export type OracleLedger = {
  lines: LedgerLine[];
  catalogue: OracleCatalogue;
  labelCostsIncluded: boolean;
  unmatchedLabels: UnmatchedLabel[];
};

/** Books every row of a store, one unit at a time. Rows of the same key replace earlier ones. */
export function ledgerOf(store: OracleStore): OracleLedger {
  const { files, settings } = store;
  const orderLines = latestRows(files.order_lines, (row) => [row.order_id, row.line_id]);
  const returns = latestRows(files.returns ?? [], (row) => [row.return_id, row.order_id, row.line_id]);
  const refunds = latestRows(files.refunds ?? [], (row) => [row.refund_id, row.order_id, row.line_id]);
  const returnsOf = Map.groupBy(returns, lineKey);
  const refundsOf = Map.groupBy(refunds, lineKey);
  const soldOf = new Map(
    orderLines.map((line) => [line, soldLots(line, refundsOf.get(lineKey(line)) ?? [])]),
  );
  const catalogue = catalogueOf(
    {
      products: latestRows(files.products ?? [], (row) => [row.product_id]),
      variants: latestRows(files.variants ?? [], (row) => [row.variant_id]),
      orderLines,
      lastSoldDay: (line) => soldOf.get(line)?.at(-1)?.day ?? dayOf(line.ordered_at),
    },
    settings.currency_code,
  );
  const lines = orderLines.flatMap((line) =>
    bookLine(line, returnsOf.get(lineKey(line)) ?? [], refundsOf.get(lineKey(line)) ?? [], {
      sold: soldOf.get(line) ?? [],
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

function lineKey({ order_id, line_id }: { order_id: string; line_id: string }): string {
  return JSON.stringify([order_id, line_id]);
}

/** M2: processed units if the platform reports them, else requested ones. */
function unitsOf(row: ReturnRow): number {
  return row.processed_units ?? row.units;
}

/** M1: one order line counts as one line for each day on which units of it were sold. */
function bookLine(
  row: OrderLineRow,
  returns: readonly ReturnRow[],
  allRefunds: readonly RefundRow[],
  { sold, resolved, currencyCode }: { sold: readonly Sold[]; resolved: ResolvedLine; currencyCode: string },
): LedgerLine[] {
  const lots = sold.map(({ day, units }) => lotOf(row, resolved, day, units));
  if (lots.length === 0) {
    const booked = bookedBy(row, allRefunds);
    return [{ ...lotOf(row, resolved, dayOf(row.ordered_at), 0), booked }];
  }
  valueLots(row, lots, currencyCode);
  const refunds = allRefunds.filter((refund) => refund.restock_type !== "CANCEL");
  const found = walkThroughTime(lots, returns, refunds);
  /** M1: beyond the units that came back, those of a return or refund follow the last of them, else those sold first. */
  const lotAt = (id: string, unit: number) => found.get(id)?.[unit] ?? found.get(id)?.at(-1) ?? lots[0];
  const paid = new Map<string, number>();
  for (const refund of refunds.toSorted(inTime)) {
    const isLinked = returns.some((request) => request.return_id === refund.return_id);
    const id = isLinked ? `return ${refund.return_id}` : `refund ${refund.refund_id}`;
    const place = paid.get(id) ?? 0;
    paid.set(id, place + refund.units);
    // Money without units goes where the next unit would.
    const payees = Array.from({ length: Math.max(1, refund.units) }, (_, unit) => lotAt(id, place + unit));
    const minor = splitMinor(minorOf(refund.subtotal, currencyCode), payees, lots);
    const counted = isLinked ? payees.slice(0, refund.units) : (found.get(id) ?? []);
    const isRestocked = refund.restock_type === "RETURN" || refund.restock_type === "LEGACY_RESTOCK";
    for (const lot of new Set(payees as LedgerLine[])) {
      const units = counted.filter((other) => other === lot).length;
      lot.refunds.push({
        lagDays: lagOf(lot, refund.refunded_at),
        units,
        restockedUnits: isRestocked ? units : 0,
        minor: minor.get(lot) ?? 0,
        returnId: refund.return_id,
      });
    }
  }
  for (const request of returns) {
    const { return_id: returnId, status } = request;
    const asked = Array.from({ length: unitsOf(request) }, (_, unit) => lotAt(`return ${returnId}`, unit));
    const kept = minorOf(request.kept_amount ?? "0", currencyCode);
    const keepers = asked.length === 0 ? [lotAt(`return ${returnId}`, 0)] : asked;
    const keptByLot = splitMinor(kept, keepers, lots);
    for (const lot of lots) {
      const units = asked.filter((other) => other === lot).length;
      if (units > 0) lot.requests.push({ returnId, status, units });
      const refundedUnits = lot.refunds.reduce(
        (sum, refund) => sum + (refund.returnId === returnId ? refund.units : 0),
        0,
      );
      const isExchange = (request.exchanged_units ?? 0) > 0;
      lot.returnTerms.push({ returnId, isExchange, keptMinor: keptByLot.get(lot) ?? 0, refundedUnits });
    }
  }
  const [first] = lots as [LedgerLine];
  first.booked = bookedBy(row, allRefunds);
  first.returnedOfLine = lots.reduce((sum, { returned }) => sum + returned.length, 0);
  return lots;
}

/** M20: each unit of a line has the same part of its value; a remainder is split as money is. */
function valueLots(row: OrderLineRow, lots: readonly LedgerLine[], currencyCode: string): void {
  if (row.sold_amount === undefined && row.unit_price === undefined) return;
  const units =
    row.units - (row.removed_units ?? 0) + changesOf(row).reduce((sum, change) => sum + change.units, 0);
  const each = difference(row.unit_price ?? "0", row.unit_discount ?? "0");
  const value =
    row.sold_amount === undefined
      ? minorOf(each, currencyCode, units)
      : minorOf(row.sold_amount, currencyCode);
  const left = lots.flatMap((lot) => Array.from({ length: lot.sold }, () => lot));
  const parts = splitMinor(nearest(BigInt(value) * BigInt(left.length), BigInt(units)), left, lots);
  for (const lot of lots) lot.soldMinor = parts.get(lot) ?? 0;
}

/** A decimal less another, exactly. */
function difference(left: string, right: string): string {
  const digits = (text: string): bigint => {
    const [whole = "", fraction = ""] = text.split(".");
    return BigInt(whole + fraction.padEnd(PLACES, "0"));
  };
  const size = digits(left) - digits(right);
  const text = String(size < 0n ? -size : size).padStart(PLACES + 1, "0");
  return `${size < 0n ? "-" : ""}${text.slice(0, -PLACES)}.${text.slice(-PLACES)}`;
}

const PLACES = 20;

function lotOf(row: OrderLineRow, resolved: ResolvedLine, day: number, sold: number): LedgerLine {
  return {
    ...resolved,
    orderId: row.order_id,
    lineId: row.line_id,
    orderedDay: day,
    month: monthOf(day),
    sold,
    soldMinor: null,
    returned: [],
    refunds: [],
    returnTerms: [],
    sells: row.test !== true && row.gift_card !== true && row.canceled_at === undefined,
    placed: row.units + changesOf(row).reduce((sum, { units }) => sum + Math.max(0, units), 0),
    canceledDay: row.canceled_at === undefined ? null : dayOf(row.canceled_at),
    booked: [],
    returnedOfLine: 0,
    requests: [],
    labels: [],
  };
}

/** M24: edits on their days; the units that the source states as taken back, otherwise its refunds. */
function bookedBy(row: OrderLineRow, refunds: readonly RefundRow[]): LedgerLine["booked"] {
  const booked: LedgerLine["booked"] = [
    { day: dayOf(row.ordered_at), kind: "edit", units: row.removed_units ?? 0 },
  ];
  for (const { instant, units } of changesOf(row)) {
    if (units < 0) booked.push({ day: dayOf(new Date(instant).toISOString()), kind: "edit", units: -units });
  }
  for (const { refunded_at, units, restock_type } of refunds) {
    const day = dayOf(refunded_at);
    if (row.reversals === undefined) booked.push({ day, kind: "reversal", units });
    if (restock_type === "CANCEL") booked.push({ day, kind: "cancel", units });
  }
  for (const entry of row.reversals?.split("; ") ?? []) {
    const [at = "", units] = entry.split(" ");
    booked.push({ day: dayOf(at), kind: "reversal", units: Number(units) });
  }
  return booked;
}

type Sold = { day: number; units: number };

/** M1: the units that stay sold, by day: removals take the unit sold last, among those sold by then. */
function soldLots(row: OrderLineRow, refunds: readonly RefundRow[]): Sold[] {
  if (row.test === true || row.gift_card === true || row.canceled_at !== undefined) return [];
  const placed = Date.parse(row.ordered_at);
  const changes = changesOf(row);
  for (const refund of refunds) {
    if (refund.restock_type === "CANCEL") {
      changes.push({ instant: Date.parse(refund.refunded_at), units: -refund.units });
    }
  }
  changes.push({ instant: placed, units: row.units }, { instant: placed, units: -(row.removed_units ?? 0) });
  const lots: Sold[] = [];
  let owed = 0;
  for (const { instant, units } of changes.toSorted(
    (one, other) => one.instant - other.instant || other.units - one.units,
  )) {
    const day = dayOf(new Date(instant).toISOString());
    for (let unit = 0; unit < units; unit++) {
      if (owed > 0) owed -= 1;
      else if (lots.at(-1)?.day === day) (lots.at(-1) as Sold).units += 1;
      else lots.push({ day, units: 1 });
    }
    for (let unit = 0; unit > units; unit--) {
      const last = lots.at(-1);
      if (last === undefined) owed += 1;
      else if (--last.units === 0) lots.pop();
    }
  }
  return lots;
}

function changesOf({ changes = "" }: OrderLineRow): { instant: number; units: number }[] {
  return changes
    .split(";")
    .filter((text) => text.trim() !== "")
    .map((text) => {
      const [at = "", units] = text.trim().split(" ");
      return { instant: Date.parse(at), units: Number(units) };
    });
}

/**
 * M1, M2, M8: visits every instant at which something happened and marks units as returned one after the other, those
 * sold first, while there are any left. Returns, by `return <id>` and by `refund <id>` of one linked to no return of this
 * line, the lot of each of its units that came back.
 */
function walkThroughTime(
  lots: readonly LedgerLine[],
  returns: readonly ReturnRow[],
  refunds: readonly RefundRow[],
): Map<string, LedgerLine[]> {
  const found = new Map<string, LedgerLine[]>();
  const takeUnit = (id: string, at: string, reason: Reason, returnId: string | null): void => {
    const lot = lots.find(({ sold, returned }) => returned.length < sold);
    if (lot === undefined) return;
    lot.returned.push({ lagDays: lagOf(lot, at), day: dayOf(at), reason, returnId });
    if (!found.has(id)) found.set(id, []);
    found.get(id)?.push(lot);
  };
  const isLinked = (refund: RefundRow): boolean => returns.some((row) => row.return_id === refund.return_id);
  const counted = new Map<string, number>();
  for (const instant of instantsOf(returns, refunds)) {
    const at = new Date(instant).toISOString();
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
        takeUnit(`return ${row.return_id}`, at, reasonOf(row), row.return_id);
        counted.set(row.return_id, unit + 1);
      }
    }
    for (const refund of refunds.toSorted(inTime)) {
      if (isLinked(refund) || Date.parse(refund.refunded_at) !== instant) continue;
      for (let unit = 0; unit < refund.units; unit++)
        takeUnit(`refund ${refund.refund_id}`, at, REFUND_ONLY, null);
    }
  }
  return found;
}

function inTime(one: RefundRow, other: RefundRow): number {
  return (
    Date.parse(one.refunded_at) - Date.parse(other.refunded_at) || byCodePoint(one.refund_id, other.refund_id)
  );
}

/** M1: money by units, by largest remainder, of equal ones the earlier day first; a credit as the positive amount. */
function splitMinor(signedMinor: number, payees: readonly unknown[], lots: readonly LedgerLine[]) {
  const total = payees.length;
  const minor = Math.abs(signedMinor);
  const parts = lots.map((lot) => {
    const share = minor * payees.filter((other) => other === lot).length;
    return { lot, whole: Math.floor(share / total), left: share % total };
  });
  let left = minor - parts.reduce((sum, { whole }) => sum + whole, 0);
  for (const part of parts.toSorted((one, other) => other.left - one.left)) if (left-- > 0) part.whole += 1;
  return new Map(parts.map(({ lot, whole }) => [lot, whole * Math.sign(signedMinor)]));
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

import { dayOf, lagOf, monthOf } from "./calendar.ts";
import type { LedgerLine } from "./ledger.ts";
import { byCodePoint, minorOf } from "./numbers.ts";
import type { ReturnLabelRow } from "./store.ts";

export type UnmatchedLabel = { month: string; minor: number };

type Part = { line: LedgerLine; units: number; minor: number };

/** M10: adds every label's parts to their lines; returns the labels that match nothing. Voided labels are ignored. */
export function splitLabels(
  labels: readonly ReturnLabelRow[],
  lines: readonly LedgerLine[],
  currencyCode: string,
): UnmatchedLabel[] {
  const unmatched: UnmatchedLabel[] = [];
  for (const label of labels) {
    if (label.voided_at !== undefined || (label.currency ?? currencyCode) !== currencyCode) continue;
    const minor = minorOf(label.amount, currencyCode);
    const parts = partsOf(label, lines);
    if (parts.length === 0) unmatched.push({ month: monthOf(dayOf(label.charged_at)), minor });
    else giveOut(minor, parts);
    for (const part of parts) {
      part.line.labels.push({ lagDays: lagOf(part.line, label.charged_at), minor: part.minor });
    }
  }
  return unmatched;
}

/** The lines of the return, in the order if it has units there, else the returned lines of the order. */
function partsOf(label: ReturnLabelRow, lines: readonly LedgerLine[]): Part[] {
  const ofReturn = lines.map((line) => {
    const requests = line.requests.filter((request) => request.returnId === label.return_id);
    return { line, minor: 0, units: requests.reduce((sum, request) => sum + request.units, 0) };
  });
  const ofOrder = lines
    .filter((line) => line.orderId === label.order_id)
    .map((line) => ({ line, minor: 0, units: line.returned.length }));
  const ofBoth = ofReturn.filter(({ line }) => line.orderId === label.order_id);
  const hasUnits = (part: Part): boolean => part.units > 0;
  return [ofBoth, ofReturn, ofOrder].find((parts) => parts.some(hasUnits))?.filter(hasUnits) ?? [];
}

/**
 * Splits an amount into whole minor units by share, rounded down; the rest goes one by one to the largest remainders, ties by line id.
 * A credit is split like a charge of the same size.
 */
function giveOut(signedMinor: number, parts: Part[]): void {
  const minor = Math.abs(signedMinor);
  const total = parts.reduce((sum, part) => sum + part.units, 0);
  const remainderOf = (part: Part): number => (minor * part.units) % total;
  let left = minor;
  for (const part of parts) {
    part.minor = (minor * part.units - remainderOf(part)) / total;
    left -= part.minor;
  }
  const inTurn = parts.toSorted(
    (one, other) => remainderOf(other) - remainderOf(one) || byCodePoint(one.line.lineId, other.line.lineId),
  );
  for (const part of inTurn.slice(0, left)) part.minor += 1;
  for (const part of parts) part.minor *= Math.sign(signedMinor);
}

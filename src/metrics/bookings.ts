import { dayOfInstant } from "../lib/month.ts";
import type { DocumentLine, DocumentRefund } from "./order.ts";

/** Why a source books other units as taken back than are returned (M24). */
type BookingStep =
  | "left_out_orders"
  | "order_edits"
  | "canceled_before_fulfillment"
  | "not_counted"
  | "other_days";

/** Units of a line that its source books as taken back on a day, less those returned on it. */
export interface BookingDifference {
  lineId: string;
  bookedOnDay: number;
  step: BookingStep;
  units: number;
}

type UnitsByDay = Map<number, number>;

/**
 * M24: the line's differences by day and step; those of a day add up to what is booked on it less what is returned on it.
 * `refunds` are the line's as its source has them; `returned`: its returned units by day, null = it sells nothing (M1).
 */
export function bookingDifferences(
  line: DocumentLine,
  refunds: readonly DocumentRefund[],
  returned: readonly { occurredOnDay: number; returnedUnits: number }[] | null,
): BookingDifference[] {
  const isPlain = line.removedUnits === 0 && line.changes === undefined && line.reversals === undefined;
  if (isPlain && refunds.length === 0 && returned?.length === 0) return [];
  const edited: UnitsByDay = new Map();
  const canceled: UnitsByDay = new Map();
  const reversed: UnitsByDay = new Map();
  add(edited, line.orderedAt, line.removedUnits);
  for (const { changedAt, units } of line.changes ?? []) add(edited, changedAt, Math.max(0, -units));
  for (const { restockType, refundedAt, units } of refunds) {
    if (restockType === "CANCEL") add(canceled, refundedAt, units);
    if (line.reversals === undefined) add(reversed, refundedAt, units);
  }
  for (const { reversedAt, units } of line.reversals ?? []) add(reversed, reversedAt, units);
  const rowsOf = (step: BookingStep, units: UnitsByDay): BookingDifference[] =>
    [...units]
      .filter(([, count]) => count !== 0)
      .map(([bookedOnDay, count]) => ({ lineId: line.lineId, bookedOnDay, step, units: count }));

  if (returned === null) {
    const booked = combine(edited, reversed, 1);
    const placedUnits = (line.changes ?? []).reduce((sum, { units }) => sum + Math.max(0, units), line.units);
    if (line.canceledAt !== null) add(booked, line.canceledAt, Math.max(0, placedUnits - total(booked)));
    return rowsOf("left_out_orders", booked);
  }
  const counted: UnitsByDay = new Map();
  for (const { occurredOnDay, returnedUnits } of returned) {
    counted.set(occurredOnDay, (counted.get(occurredOnDay) ?? 0) + returnedUnits);
  }
  const left = combine(reversed, canceled, -1);
  const uncounted = lastOf(left, total(left) - total(counted));
  return [
    ...rowsOf("order_edits", edited),
    ...rowsOf("canceled_before_fulfillment", canceled),
    ...rowsOf("not_counted", uncounted),
    ...rowsOf("other_days", combine(combine(left, uncounted, -1), counted, -1)),
  ];
}

/** That many of the units, from the last day back. */
function lastOf(unitsByDay: UnitsByDay, units: number): UnitsByDay {
  const last: UnitsByDay = new Map();
  let rest = units;
  for (const [day, count] of [...unitsByDay].toSorted(([left], [right]) => right - left)) {
    const taken = Math.max(0, Math.min(rest, count));
    last.set(day, taken);
    rest -= taken;
  }
  return last;
}

function combine(left: UnitsByDay, right: UnitsByDay, sign: 1 | -1): UnitsByDay {
  const sum = new Map(left);
  for (const [day, units] of right) sum.set(day, (sum.get(day) ?? 0) + sign * units);
  return sum;
}

function total(unitsByDay: UnitsByDay): number {
  return [...unitsByDay.values()].reduce((sum, units) => sum + units, 0);
}

function add(unitsByDay: UnitsByDay, time: string, units: number): void {
  const day = dayOfInstant(Date.parse(time));
  unitsByDay.set(day, (unitsByDay.get(day) ?? 0) + units);
}

import { cleanLabel } from "../shared/text.ts";
import type { ShipStationLabel } from "./map-label.ts";

/**
 * The beginning of the list of labels, most recently modified first: label ids with their changeable members. Labels have no
 * modification time, so a run uses this to know how far back it has to read.
 */
export type ListHead = readonly string[];

/** How much of the beginning is remembered, and how many unmoved labels in a row mean that nothing behind them moved. */
const HEAD_LABELS = 1000;
const SETTLED_LABELS = 50;

/** How many labels in a row stood as remembered, and the place in the remembered list of the last one. */
export type Settling = { settled: number; place: number };

export const UNSETTLED: Settling = { settled: 0, place: -1 };

/** One entry of a head. */
export function headEntry(label: ShipStationLabel): string {
  const states = [
    label.label_id,
    label.status,
    cleanLabel(label.tracking_status ?? null),
    label.voided ?? false,
    label.shipment_cost?.amount,
  ];
  return states.join("|");
}

/**
 * Whether the list has reached labels unmodified since `head` was stored. A modified label moves to the front, so those behind it
 * keep their order: enough consecutive entries of `head`, unchanged and in their old order, are its rest.
 */
export function settle(before: Settling, entries: readonly string[], head: ListHead): Settling {
  const places = new Map(head.map((entry, place) => [entry, place]));
  let { settled, place } = before;
  for (const entry of entries) {
    const found = places.get(entry) ?? -1;
    settled = found === -1 ? 0 : found > place ? settled + 1 : 1;
    place = found === -1 ? place : found;
    if (settled >= SETTLED_LABELS) break;
  }
  return { settled, place };
}

export function isSettled({ settled }: Settling): boolean {
  return settled >= SETTLED_LABELS;
}

/** The entries read so far with those of another page; a repeated label keeps its first position. */
export function extendHead(head: ListHead, entries: readonly string[]): ListHead {
  const ids = new Set(head.map(idOf));
  const added = entries.filter((entry) => {
    const isNew = !ids.has(idOf(entry));
    ids.add(idOf(entry));
    return isNew;
  });
  return [...head, ...added].slice(0, HEAD_LABELS);
}

function idOf(entry: string): string {
  return entry.slice(0, entry.indexOf("|"));
}

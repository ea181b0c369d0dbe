import Type, { type Static } from "typebox";
import type { StoredMoments } from "../../../store/queries/label-record.ts";
import {
  Amount,
  Currency,
  Filled,
  Flag,
  nullable,
  object,
  optional,
  reader,
  Text,
  Time,
  UnreadableAnswer,
} from "../shared/foreign.ts";
import type { SourceLabel, SourceRecord } from "../shared/label-run.ts";
import { minorOf } from "../shared/money.ts";
import { cleanLabel, readCurrency, timeOf } from "../shared/text.ts";

export const TITLE = "ShipStation";

/** The checked members of every label in the list. */
export const LABEL = object("Label", {
  label_id: Filled,
  status: Filled,
  tracking_status: nullable(Text),
  is_return_label: nullable(Flag),
  test_label: nullable(Flag),
  voided: nullable(Flag),
  shipment_cost: nullable(Type.Object({ amount: Type.Unknown() }, { required: [] })),
});

/** The members of a return label that has a price. */
const PRICED_LABEL = object("Label", {
  ...LABEL.properties,
  created_at: Time,
  charge_event: nullable(Text),
  rma_number: nullable(Text),
  tracking_number: nullable(Text),
  voided_at: optional(Time),
  shipment_cost: object("Price", { currency: Currency, amount: Type.Intersect([Type.Number(), Amount]) }),
});

const TRACKING = object("Tracking", {
  shipped_date: optional(Time),
  events: nullable(
    Type.Array(object("TrackingEvent", { status_code: nullable(Text), occurred_at: optional(Time) })),
  ),
});

export type ShipStationLabel = Static<typeof LABEL>;
export type PricedLabel = Static<typeof PRICED_LABEL>;
export type Tracking = Static<typeof TRACKING>;

export const readLabel = reader(TITLE, LABEL);
export const readPricedLabel = reader(TITLE, PRICED_LABEL);
export const readTracking = reader(TITLE, TRACKING);
/** The carrier's report on a label, requested only if it matters. */
type Track = (labelId: string) => Promise<Tracking>;

/** Of a tracking event: accepted, in transit, at a service point, delivery attempted, delivered. */
const SCANS = new Set(["AC", "IT", "SP", "AT", "DE"]);

/**
 * A return label as the record it is; null for other labels. M10: charged when it was created, or, charged on the
 * carrier's acceptance, at its first scan, and until then not at all. A label that is stored keeps its moments.
 */
export async function mapLabel(
  listed: ShipStationLabel,
  stored: ReadonlyMap<string, StoredMoments>,
  track: Track,
): Promise<SourceRecord | null> {
  if (listed.is_return_label !== true) return null;
  const { label_id: labelId } = listed;
  if (!hasCost(listed)) return { recordId: labelId, labels: [] };
  const label = readPricedLabel(listed);
  const known = stored.get(labelId) ?? null;
  const chargedAt = await findChargedAt(label, known, track);
  if (chargedAt === null) return { recordId: labelId, labels: [] };
  const { currency, amount } = label.shipment_cost;
  const currencyCode = readCurrency(currency) ?? "";
  const storedVoid = known?.voided_at?.toISOString() ?? null;
  const voidedAt = label.voided_at ? timeOf(label.voided_at) : (storedVoid ?? chargedAt);
  return {
    recordId: labelId,
    labels: [
      {
        labelId,
        ...referencesOf(cleanLabel(label.rma_number ?? null)),
        trackingNumber: cleanLabel(label.tracking_number ?? null),
        chargedAt,
        amountMinor: minorOf(amount, currencyCode),
        currencyCode,
        voidedAt: label.voided === true ? voidedAt : null,
      },
    ],
  };
}

/** A label under way or one that failed has no price yet, and one for testing never has. */
function hasCost({ status, test_label: isTest }: ShipStationLabel): boolean {
  return status !== "processing" && status !== "error" && isTest !== true;
}

async function findChargedAt(
  label: PricedLabel,
  known: StoredMoments | null,
  track: Track,
): Promise<string | null> {
  const createdAt = timeOf(label.created_at);
  if (cleanLabel(label.charge_event ?? null) !== "on_carrier_acceptance") return createdAt;
  if (known !== null) return known.charged_at.toISOString();
  const trackingStatus = cleanLabel(label.tracking_status ?? null) ?? "unknown";
  if (trackingStatus === "unknown" || label.voided === true) return null;
  const tracking = await track(label.label_id);
  const scans = (tracking.events ?? [])
    .filter((event) => SCANS.has(event.status_code ?? ""))
    .map((event) => timeOfScan(event.occurred_at, label.label_id))
    .toSorted();
  const isMoving = trackingStatus === "in_transit" || trackingStatus === "delivered";
  return scans[0] ?? (isMoving ? timeOf(tracking.shipped_date || createdAt) : null);
}

function timeOfScan(occurredAt: string | null | undefined, labelId: string): string {
  if (occurredAt) return timeOf(occurredAt);
  const anomaly = { field: "TrackingEvent.occurred_at", expected: "a time", found: "missing" };
  throw new UnreadableAnswer(TITLE, anomaly, labelId);
}

type References = Pick<SourceLabel, "orderId" | "returnId" | "orderName">;

/** The RMA number is free text: a platform's id, a return's name (#1001-R1) or an order's. */
function referencesOf(rma: string | null): References {
  const none: References = { orderId: null, returnId: null, orderName: null };
  if (rma === null) return none;
  if (/^gid:\/\/shopify\/Return\/\d+$/u.test(rma)) return { ...none, returnId: rma };
  if (/^gid:\/\/shopify\/Order\/\d+$/u.test(rma)) return { ...none, orderId: rma };
  return { ...none, orderName: rma.replace(/-R\d+$/u, "") };
}

import type { StoredLabel } from "../../../store/queries/label-record.ts";
import type { SaidLabel, SaidRecord } from "../kit/label-run.ts";
import { readAmount, readCurrency } from "../kit/said-fields.ts";
import type { SaidFields } from "../kit/said-fields.ts";

/** What the carrier reported of a label, asked for only where it decides. */
export type Track = (labelId: string) => Promise<SaidFields>;

/** Of a tracking event: accepted, in transit, at a service point, delivery attempted, delivered. */
const SCANS = new Set(["AC", "IT", "SP", "AT", "DE"]);

/**
 * A return label as the record it is; null for other labels. M10: charged when it was created, or, charged on the
 * carrier's acceptance, at its first scan, and until then not at all. A label that is stored keeps its moments.
 */
export async function readLabel(
  label: SaidFields,
  stored: ReadonlyMap<string, StoredLabel>,
  track: Track,
): Promise<SaidRecord | null> {
  if (!label.flag("is_return_label")) return null;
  const labelId = label.text("label_id");
  const known = stored.get(labelId) ?? null;
  const chargedAt = hasCost(label) ? await findChargedAt(label, labelId, known, track) : null;
  if (chargedAt === null) return { recordId: labelId, labels: [] };
  const isVoided = label.flag("voided");
  const storedVoid = known?.voided_at?.toISOString() ?? null;
  return {
    recordId: labelId,
    labels: [
      {
        labelId,
        ...readReferences(label.optionalText("rma_number")),
        trackingNumber: label.optionalText("tracking_number"),
        chargedAt,
        ...readCost(label),
        voidedAt: isVoided ? (label.optionalTime("voided_at") ?? storedVoid ?? chargedAt) : null,
      },
    ],
  };
}

/** A label under way or one that failed has no price yet, and one for testing never has. */
function hasCost(label: SaidFields): boolean {
  const status = label.text("status");
  return status !== "processing" && status !== "error" && !label.flag("test_label");
}

async function findChargedAt(
  label: SaidFields,
  labelId: string,
  known: StoredLabel | null,
  track: Track,
): Promise<string | null> {
  const createdAt = label.time("created_at");
  if (label.optionalText("charge_event") !== "on_carrier_acceptance") return createdAt;
  if (known !== null) return known.charged_at.toISOString();
  const trackingStatus = label.optionalText("tracking_status") ?? "unknown";
  if (trackingStatus === "unknown" || label.flag("voided")) return null;
  const tracking = await track(labelId);
  const scans = tracking
    .list("events", true)
    .filter((event) => SCANS.has(event.optionalText("status_code") ?? ""))
    .map((event) => event.time("occurred_at"))
    .toSorted();
  const isMoving = trackingStatus === "in_transit" || trackingStatus === "delivered";
  return scans[0] ?? (isMoving ? (tracking.optionalTime("shipped_date") ?? createdAt) : null);
}

type References = Pick<SaidLabel, "orderId" | "returnId" | "orderName">;

/** The RMA number is free text: a platform's id, a return's name (#1001-R1) or an order's. */
function readReferences(rma: string | null): References {
  const none: References = { orderId: null, returnId: null, orderName: null };
  if (rma === null) return none;
  if (/^gid:\/\/shopify\/Return\/\d+$/u.test(rma)) return { ...none, returnId: rma };
  if (/^gid:\/\/shopify\/Order\/\d+$/u.test(rma)) return { ...none, orderId: rma };
  return { ...none, orderName: rma.replace(/-R\d+$/u, "") };
}

function readCost(label: SaidFields): Pick<SaidLabel, "amountMinor" | "currencyCode"> {
  const cost = label.optionalFields("shipment_cost");
  if (cost === null) throw label.failure("shipment_cost", "amount");
  const currencyCode = readCurrency(cost.text("currency"));
  if (currencyCode === null) throw cost.failure("currency", "currency");
  const amount = cost.raw("amount");
  const amountMinor = typeof amount === "number" ? readAmount(amount, currencyCode) : null;
  if (amountMinor === null) throw cost.failure("amount", "amount of money");
  return { amountMinor, currencyCode };
}

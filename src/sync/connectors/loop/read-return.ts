import { createHash } from "node:crypto";
import type { StoredLabel } from "../../../store/queries/label-record.ts";
import type { SaidLabel, SaidRecord } from "../kit/label-run.ts";
import { readAmount, readCurrency } from "../kit/said-fields.ts";
import type { SaidFields } from "../kit/said-fields.ts";
import { currencyExponent } from "../../../metrics/money.ts";

/** States of a label that is paid back. */
const VOID_STATUSES = new Set(["cancelled", "canceled", "void", "voided", "refunded"]);

/** The ids under which the labels of a return are stored. */
export function labelIdsOf(returned: SaidFields): string[] {
  return labelsOf(returned).map(({ labelId }) => labelId);
}

/**
 * A return of Loop with its labels. M10: a label is charged when it was made, which is when the return was made unless
 * the label says otherwise; one without a price is not charged (yet). A void keeps the moment it was first seen with.
 */
export function readReturn(returned: SaidFields, stored: ReadonlyMap<string, StoredLabel>): SaidRecord {
  const createdAt = returned.time("created_at");
  const updatedAt = returned.optionalTime("updated_at") ?? createdAt;
  const orderId = returned.optionalId("provider_order_id");
  const labels: SaidLabel[] = [];
  for (const { labelId, label, onlyRate } of labelsOf(returned)) {
    const currencyCode = currencyOf(returned, label);
    const amountMinor =
      onlyRate === null ? readRate(label, currencyCode) : readDecimal(returned, currencyCode);
    if (amountMinor === null) continue;
    const status = label.optionalText("status") ?? label.optionalText("label_status") ?? "";
    const storedVoid = stored.get(labelId)?.voided_at?.toISOString() ?? null;
    labels.push({
      labelId,
      orderId: orderId !== null && /^\d+$/u.test(orderId) ? `gid://shopify/Order/${orderId}` : orderId,
      returnId: null,
      orderName: returned.optionalText("order_name"),
      trackingNumber: label.optionalId("tracking_number"),
      chargedAt: (label === returned ? null : label.optionalTime("created_at")) ?? createdAt,
      amountMinor,
      currencyCode,
      voidedAt: VOID_STATUSES.has(status.toLowerCase()) ? (storedVoid ?? updatedAt) : null,
    });
  }
  return { recordId: returned.id("id"), labels };
}

/** onlyRate: the return's label_rate, where it speaks of this label alone. */
type LabelOfReturn = { labelId: string; label: SaidFields; onlyRate: string | null };

/**
 * The list of labels, or, where there is none, the return's own tracking number and label_rate. Labels have no id: they
 * are known by a digest of their tracking number, else by their place: ids outlive what customers ask to remove.
 */
function labelsOf(returned: SaidFields): LabelOfReturn[] {
  const returnId = returned.id("id");
  const rate = returned.optionalText("label_rate");
  const listed = returned.list("labels", true);
  const labels = listed.length === 0 && rate !== null ? [returned] : listed;
  const onlyRate = labels.length === 1 ? rate : null;
  const byId = new Map(
    labels.map((label, place) => {
      const trackingNumber = label.optionalId("tracking_number");
      const labelId = `${returnId}:${trackingNumber === null ? place : digestOf(trackingNumber)}`;
      return [labelId, { labelId, label, onlyRate }];
    }),
  );
  return [...byId.values()];
}

function digestOf(trackingNumber: string): string {
  return createHash("sha256").update(trackingNumber).digest("hex").slice(0, 16);
}

function currencyOf(returned: SaidFields, label: SaidFields): string {
  const currencyCode = readCurrency(label.optionalText("currency") ?? returned.text("currency"));
  if (currencyCode === null) throw returned.failure("currency", "currency");
  return currencyCode;
}

/** label_rate: an amount, as decimal text. */
function readDecimal(returned: SaidFields, currencyCode: string): number {
  const amountMinor = readAmount(returned.text("label_rate"), currencyCode);
  if (amountMinor === null) throw returned.failure("label_rate", "amount of money");
  return amountMinor;
}

/** rate: cents when it is a whole number, an amount when it is written with a decimal point; null = no price. */
function readRate(label: SaidFields, currencyCode: string): number | null {
  const rate = label.raw("rate");
  if (rate === null || rate === "") return null;
  const text = typeof rate === "number" ? String(rate) : rate;
  if (typeof text !== "string") throw label.failure("rate", "amount of money");
  const amountMinor = text.includes(".") ? readAmount(text, currencyCode) : readCents(text, currencyCode);
  if (amountMinor === null) throw label.failure("rate", "amount of money");
  return amountMinor;
}

/** A hundredth of the currency's unit, also where the currency has no such coin. */
function readCents(text: string, currencyCode: string): number | null {
  if (!/^\d{1,13}$/u.test(text)) return null;
  const cents = text.padStart(3, "0");
  const amount = `${cents.slice(0, -2)}.${cents.slice(-2)}`;
  return currencyExponent(currencyCode) === 2 ? Number(text) : readAmount(amount, currencyCode);
}

import { createHash } from "node:crypto";
import Type, { type Static } from "typebox";
import type { StoredMoments } from "../../../store/queries/label-record.ts";
import {
  Amount,
  Currency,
  Id,
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

export const TITLE = "Loop";

/** The members of a label, or of a return with one label and no list. */
const LABEL = {
  tracking_number: optional(Id),
  created_at: optional(Time),
  currency: optional(Currency),
  status: nullable(Text),
  label_status: nullable(Text),
};

/** rate: cents when it is a whole number, an amount when it is written with a decimal point. */
const LISTED_LABEL = object("Label", { ...LABEL, rate: optional(Amount) });

export const RETURN = object("Return", {
  ...LABEL,
  id: Id,
  created_at: Time,
  updated_at: optional(Time),
  provider_order_id: optional(Id),
  order_name: nullable(Text),
  /** An amount. */
  label_rate: optional(Amount),
  labels: nullable(Type.Array(LISTED_LABEL)),
});

export type LoopReturn = Static<typeof RETURN>;
export type LoopLabel = Omit<Static<typeof LISTED_LABEL>, "rate"> & {
  rate?: Static<typeof LISTED_LABEL>["rate"];
};

export const readReturn = reader(TITLE, RETURN);
/** States of a label that is paid back. */
const VOID_STATUSES = new Set(["cancelled", "canceled", "void", "voided", "refunded"]);

/** The ids under which the labels of a return are stored. */
export function labelIdsOf(returned: LoopReturn): string[] {
  return labelsOf(returned).map(({ labelId }) => labelId);
}

/**
 * A return of Loop with its labels. M10: a label is charged when it is created, by default when the return is created; one
 * without a price is not charged (yet). A void keeps the time when it was first seen.
 */
export function mapReturn(returned: LoopReturn, stored: ReadonlyMap<string, StoredMoments>): SourceRecord {
  const createdAt = timeOf(returned.created_at);
  const updatedAt = timeOf(returned.updated_at || returned.created_at);
  const orderId = textOf(returned.provider_order_id);
  const labels: SourceLabel[] = [];
  for (const { labelId, label, onlyRate } of labelsOf(returned)) {
    const currencyCode = currencyOf(returned, label);
    const amountMinor =
      onlyRate === null ? rateOf(label.rate ?? "", currencyCode) : minorOf(onlyRate, currencyCode);
    if (amountMinor === null) continue;
    const status = cleanLabel(label.status ?? null) ?? cleanLabel(label.label_status ?? null) ?? "";
    const storedVoid = stored.get(labelId)?.voided_at?.toISOString() ?? null;
    labels.push({
      labelId,
      orderId: orderId !== null && /^\d+$/u.test(orderId) ? `gid://shopify/Order/${orderId}` : orderId,
      returnId: null,
      orderName: cleanLabel(returned.order_name ?? null),
      trackingNumber: textOf(label.tracking_number),
      chargedAt: timeOf(label.created_at || createdAt),
      amountMinor,
      currencyCode,
      voidedAt: VOID_STATUSES.has(status.toLowerCase()) ? (storedVoid ?? updatedAt) : null,
    });
  }
  return { recordId: returnIdOf(returned), labels };
}

export function returnIdOf(returned: LoopReturn): string {
  return textOf(returned.id) ?? "";
}

/** onlyRate: the return's label_rate, if it applies to this label only. */
type LabelOfReturn = { labelId: string; label: LoopLabel; onlyRate: string | number | null };

/**
 * The list of labels, or, where there is none, the return's own tracking number and label_rate. Labels have no id: they
 * are known by a digest of their tracking number, else by their place: ids outlive what customers ask to remove.
 */
function labelsOf(returned: LoopReturn): LabelOfReturn[] {
  const rate = returned.label_rate || null;
  const listed: LoopLabel[] = returned.labels ?? [];
  const labels = listed.length === 0 && rate !== null ? [returned] : listed;
  const onlyRate = labels.length === 1 ? rate : null;
  const byId = new Map(
    labels.map((label, place) => {
      const trackingNumber = textOf(label.tracking_number);
      const labelId = `${returnIdOf(returned)}:${trackingNumber === null ? place : digestOf(trackingNumber)}`;
      return [labelId, { labelId, label, onlyRate }];
    }),
  );
  return [...byId.values()];
}

function digestOf(trackingNumber: string): string {
  return createHash("sha256").update(trackingNumber).digest("hex").slice(0, 16);
}

function currencyOf(returned: LoopReturn, label: LoopLabel): string {
  const currencyCode = readCurrency(label.currency || returned.currency || "");
  if (currencyCode !== null) return currencyCode;
  const anomaly = { field: "Return.currency", expected: "a currency", found: "missing" };
  throw new UnreadableAnswer(TITLE, anomaly, returnIdOf(returned));
}

/** null = no price. A cent is a hundredth of the currency's unit, also where the currency has no such coin. */
function rateOf(rate: string | number, currencyCode: string): number | null {
  if (rate === "") return null;
  const text = String(rate).trim();
  if (text.includes(".")) return minorOf(text, currencyCode);
  const cents = text.padStart(3, "0");
  return minorOf(`${cents.slice(0, -2)}.${cents.slice(-2)}`, currencyCode);
}

function textOf(id: string | number | null | undefined): string | null {
  return cleanLabel(id === null || id === undefined ? null : String(id));
}

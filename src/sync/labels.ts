import { allocateLabel } from "../metrics/label.ts";
import type { Connection } from "../store/database.ts";
import { planAsUsual, planForManyRows, type NextRows } from "../store/query.ts";
import {
  listLabels,
  matchLabels,
  openLabelsToSplit,
  putLabels,
  refreshUnmatched,
  removeLabels,
  removeShares,
} from "../store/queries/label-write.ts";
import type { LabelCandidate, LabelRow, LabelToSplit } from "../store/queries/label-write.ts";
import { listRedactedLabels, type RedactedLabel } from "../store/queries/order-document.ts";
import { addLabels, type ChangedKeys } from "./changed-keys.ts";
import { openCopyBuffer, type CopyBuffer } from "./copy.ts";
import { putChanged } from "./portions.ts";

export type SourceLabels = {
  source: string;
  /** The next labels deleted at the source, stored or not; empty at the end. */
  gone: NextRows<Pick<LabelRow, "label_id">>;
  /** The next labels, each label once in a run; empty at the end. */
  next: NextRows<LabelRow>;
};

/** Labels read, and the new or changed ones; `removed`: the deleted ones that were stored. */
export type PutLabels = { read: number; changed: number; removed: number };

/** Stores the labels of a run and removes deleted ones; marks all that have changed. */
export async function putRunLabels(
  connection: Connection,
  shopKey: number,
  { source, gone, next }: SourceLabels,
  changedKeys: ChangedKeys,
): Promise<PutLabels> {
  let removed = 0;
  for (let rows = await gone(); rows.length > 0; rows = await gone()) {
    const ids = rows.map((row) => row.label_id);
    const were = await removeLabels(connection, shopKey, source, ids);
    addLabels(changedKeys, source, were);
    removed += were.length;
  }
  const redacted = await listRedactedLabels(connection, shopKey, source);
  const redactedById = new Map(redacted.map((label) => [label.label_id, label]));
  let read = 0;
  const changed = await putChanged(
    async () => {
      const rows = await next();
      read += rows.length;
      return rows.map((row) => redactedRow(row, redactedById.get(row.label_id)));
    },
    (row) => row.label_id,
    (keys) => listLabels(connection, shopKey, source, keys),
    (rows) => putLabels(connection, shopKey, source, rows),
    (row) => addLabels(changedKeys, source, [row.label_id]),
  );
  return { read, changed, removed };
}

/**
 * A label sent again with an order name, a tracking number or no reference gets the stored values of a redacted one. A label with
 * ids only contains nothing to remove, and may name another order than before.
 */
function redactedRow(row: LabelRow, redacted: RedactedLabel | undefined): LabelRow {
  if (redacted === undefined) return row;
  const hasName = row.order_name !== null || row.tracking_number !== null;
  if (!hasName && (row.order_id ?? row.return_id) !== null) return row;
  const { order_id, return_id } = redacted;
  return { ...row, order_id, return_id, order_name: null, tracking_number: null };
}

export type SplitLabels = { unmatched: number; foreign: number };

/**
 * M10: finds what every changed label belongs to, splits it over the lines of that, and marks the months that carried or carry a
 * part; what belongs to nothing becomes unmatched. Voided labels and those in another currency than the workspace's have no parts.
 * Needs the facts in place. `run` is large when it may have changed a thousand labels or more.
 */
export async function splitLabels(
  connection: Connection,
  shopKey: number,
  currencyCode: string,
  run: "large" | "small",
  changedKeys: ChangedKeys,
): Promise<SplitLabels> {
  const counts: SplitLabels = { unmatched: 0, foreign: 0 };
  if (run === "large") await planForManyRows(connection);
  for (const [source, ids] of changedKeys.labels) {
    const labelIds = [...ids];
    await matchLabels(connection, shopKey, source, labelIds);
    for (const month of await removeShares(connection, shopKey, source, labelIds))
      changedKeys.months.add(month);
    const next = await openLabelsToSplit(connection, shopKey, source, labelIds, currencyCode);
    const shares = openShares(connection, shopKey, source, changedKeys);
    for (let labels = await next(); labels.length > 0; labels = await next()) {
      for (const label of labels) {
        if (label.is_foreign) counts.foreign += 1;
        else if (!shares.split(label)) counts.unmatched += 1;
      }
      await shares.send();
    }
    await refreshUnmatched(connection, shopKey, source, labelIds);
  }
  if (run === "large") await planAsUsual(connection);
  return counts;
}

/** The parts of labels on their way to their table. */
function openShares(
  connection: Connection,
  shopKey: number,
  source: string,
  changedKeys: ChangedKeys,
): Pick<CopyBuffer, "send"> & { split(label: LabelToSplit): boolean } {
  const buffer = openCopyBuffer(
    connection,
    "label_share (shop_key, order_id, line_id, source, label_id, cohort_month, lag_days, label_minor)",
  );
  // The line id comes first: it breaks ties, also where a return spans orders.
  const keyOf = ([orderId, lineId]: LabelCandidate): string => `${lineId}\0${orderId}`;
  return {
    send: () => buffer.send(),
    // A return reference takes precedence over an order reference, which tells apart returns of several orders with one id;
    // false: neither leads to returned units.
    split: ({ label_id: labelId, order_id: labelOrderId, amount_minor: amountMinor, ...lines }) => {
      const ofReturn = lines.by_return ?? [];
      const ofBoth = ofReturn.filter(([orderId]) => orderId === labelOrderId);
      const candidates = ofBoth.length > 0 ? ofBoth : (lines.by_return ?? lines.by_order ?? []);
      const parts = allocateLabel(
        amountMinor,
        candidates.map((candidate) => ({ key: keyOf(candidate), units: candidate[2] })),
      );
      if (parts === null) return false;
      for (const candidate of candidates) {
        const [orderId, lineId, , lagDays, month] = candidate;
        const minor = parts.get(keyOf(candidate)) ?? 0;
        buffer.add([shopKey, orderId, lineId, source, labelId, month, lagDays, minor]);
        changedKeys.months.add(month);
      }
      return true;
    },
  };
}

import { dayFromText, dayOfInstant, dayToText } from "../../../metrics/month.ts";
import type { UnknownRemovals } from "../../document-merge.ts";
import type { SplitLabels } from "../../labels.ts";
import type { WarningCounts } from "../../project.ts";
import { WARNING_TEXTS } from "../kit/warnings.ts";
import type { FileName } from "./file-formats.ts";
import type { FolderFile } from "./folder-files.ts";
import type { ImportWarning } from "./problems.ts";

/** What the projection of the changed orders found odd. */
export function projectionWarnings(counts: WarningCounts): ImportWarning[] {
  return [...counts].map(([kind, count]) => ({ kind, file: null, message: WARNING_TEXTS[kind], count }));
}

/** What became of the labels that were split in this run. */
export function labelWarnings(split: SplitLabels): ImportWarning[] {
  const warnings: ImportWarning[] = [
    {
      kind: "unmatched_label",
      file: null,
      message: "labels match no returned line; they are reported as unmatched spend",
      count: split.unmatched,
    },
    {
      kind: "foreign_currency_label",
      file: null,
      message: "labels are not in the shop's currency; label costs are left out",
      count: split.foreign,
    },
  ];
  return warnings.filter(({ count }) => count !== 0);
}

const FILE_OF_REMOVALS: Readonly<Record<string, FileName>> = {
  lines: "order_lines",
  returns: "returns",
  refunds: "refunds",
  return_labels: "return_labels",
  sale_events: "sale_events",
};

/** How many deleted rows name nothing that is stored, by what they name. */
export type UnknownDeletions = Partial<UnknownRemovals> & { return_labels: number; sale_events: number };

/** Deleted rows that name nothing that is stored. */
export function deletionWarnings(files: readonly FolderFile[], unknown: UnknownDeletions): ImportWarning[] {
  const message = "deleted rows name nothing that is stored; there was nothing to remove";
  return Object.entries(FILE_OF_REMOVALS).flatMap(([kind, name]) => {
    const count = unknown[kind as keyof UnknownDeletions] ?? 0;
    const file = files.find((found) => found.name === name);
    if (file === undefined || count === 0) return [];
    return [{ kind: "unknown_deleted_row", file: file.fileName, message, count }];
  });
}

const MOST_DAYS_WITHOUT_ORDERS = 7;

/**
 * M5: an as-of long after the newest order (its UTC day; null = there is none) makes months without orders look
 * complete. It is most often the default of an import of old files.
 */
export function oldOrdersWarnings(newestDayText: string | null, asOf: Date): ImportWarning[] {
  const newestDay = newestDayText === null ? null : dayFromText(newestDayText);
  if (newestDay === null) return [];
  const days = dayOfInstant(asOf.getTime()) - newestDay;
  if (days <= MOST_DAYS_WITHOUT_ORDERS) return [];
  const message =
    `the newest order is from ${newestDayText}, ${days} days before the as-of ${asOf.toISOString().slice(0, 10)}: months without ` +
    "orders look complete and leaderboards rank empty months; if the files end there, import them again with " +
    `--as-of ${dayToText(newestDay + 1)}`;
  return [{ kind: "old_orders", file: null, message, count: null }];
}

/** `unknownSkus`: SKUs that sale events name and that the workspace has never had. */
export function saleEventWarnings(files: readonly FolderFile[], unknownSkus: number): ImportWarning[] {
  const file = files.find(({ name }) => name === "sale_events");
  if (file === undefined || unknownSkus === 0) return [];
  const message = "SKUs of sale events are unknown to the store; nothing of theirs can be compared";
  return [{ kind: "unknown_sale_sku", file: file.fileName, message, count: unknownSkus }];
}

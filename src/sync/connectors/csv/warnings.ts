import { dayFromText, dayOfInstant, dayToText } from "../../../lib/month.ts";
import type { RowKind } from "../../document-merge.ts";
import type { SplitLabels } from "../../labels.ts";
import type { WarningCounts } from "../../project.ts";
import { WARNING_TEXTS } from "../shared/warnings.ts";
import type { FileName } from "./file-formats.ts";
import type { FolderFile } from "./folder-files.ts";
import type { ImportWarning } from "./problems.ts";

/** What the projection found in the changed orders. */
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

const FILE_MESSAGES = {
  repeated_row: "rows have the key of a later row, which is the one that counts",
  unknown_deleted_row: "deleted rows name nothing that is stored; there was nothing to remove",
  unknown_sale_sku: "SKUs of sale events are unknown to the store; nothing of theirs can be compared",
} as const;

/** One warning for each file with a count above 0. */
export function fileWarnings(
  files: readonly FolderFile[],
  kind: keyof typeof FILE_MESSAGES,
  counts: Partial<Record<FileName, number>>,
): ImportWarning[] {
  return files.flatMap(({ name, fileName }) => {
    const count = counts[name] ?? 0;
    return count === 0 ? [] : [{ kind, file: fileName, message: FILE_MESSAGES[kind], count }];
  });
}

/** Counts of the rows of orders by the files they are from. */
export function byFile({
  lines,
  returns,
  refunds,
}: Record<RowKind, number>): Partial<Record<FileName, number>> {
  return { order_lines: lines, returns, refunds };
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

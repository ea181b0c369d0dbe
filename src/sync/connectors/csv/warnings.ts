import type { SplitLabels } from "../../labels.ts";
import type { WarningCounts } from "../../project.ts";
import type { FolderFile } from "./folder-files.ts";
import type { ImportWarning } from "./problems.ts";

const MESSAGES = {
  refund_exceeds_line: "refunds claim more units than their line has left; the rest counts as money only",
  return_exceeds_line: "returns claim more units than their line has left; the rest is not counted",
  negative_lag: "returns or refunds lie before their order; they count on the day of the order",
  unknown_line: "returns or refunds name lines that their order does not have",
  unusable_image:
    "products have an image address that does not begin with http:// or https://; it is left out",
} as const;

/** What the projection of the changed orders found odd. */
export function projectionWarnings(counts: WarningCounts): ImportWarning[] {
  return [...counts].map(([kind, count]) => ({ kind, file: null, message: MESSAGES[kind], count }));
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
      message: "labels are not in the shop's currency; label costs cannot be told",
      count: split.foreign,
    },
  ];
  return warnings.filter((warning) => warning.count > 0);
}

/** `unknownSkus`: SKUs that sale events name and that the workspace has never had. */
export function saleEventWarnings(files: readonly FolderFile[], unknownSkus: number): ImportWarning[] {
  const file = files.find(({ name }) => name === "sale_events");
  if (file === undefined || unknownSkus === 0) return [];
  const message = "SKUs of sale events are unknown to the store; nothing of theirs can be compared";
  return [{ kind: "unknown_sale_sku", file: file.fileName, message, count: unknownSkus }];
}

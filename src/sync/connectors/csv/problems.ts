import { dayFromText, dayOfInstant, dayToText } from "../../../lib/month.ts";
import { TooManyKeys } from "../../changed-keys.ts";
import type { RowKind } from "../../document-merge.ts";
import type { SplitLabels } from "../../labels.ts";
import { WARNING_TEXTS, type WarningCounts } from "../../project.ts";
import type { FileName } from "./file-formats.ts";
import type { FolderFile } from "./folder-files.ts";

/** An invalid row; `column` null: the whole row. `allowed`: the allowed values, as a phrase. */
export type RowProblem = {
  file: string;
  /** Of a Parquet file, from 1; `line` is then its row in the whole file, from 1. */
  row_group?: number;
  line: number;
  column: string | null;
  reason: string;
  allowed: string;
};

/** Something that did not stop a row from being used, and how often. */
export type ImportWarning = {
  kind:
    | "unknown_column"
    | "local_time"
    | "rounded_amount"
    | "repeated_row"
    | "unknown_deleted_row"
    | "old_orders"
    | "refund_exceeds_line"
    | "return_exceeds_line"
    | "negative_lag"
    | "unknown_line"
    | "unusable_image"
    | "unknown_sale_sku"
    | "unmatched_label"
    | "foreign_currency_label";
  /** null = it concerns no single file. */
  file: string | null;
  message: string;
  /** null = about the import as a whole. */
  count: number | null;
};

/** An unreadable folder or file; nothing was imported. */
export class ImportError extends Error {
  override name = "ImportError";
}

/** The sentence for rows that are too large together, although none is by itself; null: another error. */
export function tooMuch(error: unknown, files: readonly FolderFile[]): ImportError | null {
  if (error instanceof TooManyKeys) return manyKeys(error, files);
  const problem = TOO_LARGE[(error as { code?: string }).code ?? ""];
  return problem === undefined ? null : new ImportError(problem);
}

/** By SQLSTATE. */
const TOO_LARGE: Readonly<Record<string, string>> = {
  "22003":
    `the units of a month add up to more than ${(2 ** 31 - 1).toLocaleString("en")}: correct the rows of order_lines, returns ` +
    "or refunds that have the most units",
  "54000": "the rows of an order_id are more than 1 GB: an order may have some 30,000 rows",
};

/** What the keys of a kind are called, and which files name them. */
const KEYS: Readonly<Record<TooManyKeys["kind"], readonly [words: string, ...names: FileName[]]>> = {
  products: ["products", "products", "variants", "order_lines"],
  variants: ["variants", "variants"],
  skus: ["SKUs", "variants", "order_lines"],
  labels: ["labels", "order_lines", "return_labels"],
};

function manyKeys({ kind, most }: TooManyKeys, files: readonly FolderFile[]): ImportError {
  const [words, ...names] = KEYS[kind];
  const fileNames = files.filter(({ name }) => names.includes(name)).map(({ fileName }) => fileName);
  return new ImportError(
    `${fileNames.join(" and ")}: one import may change at most ${most.toLocaleString("en")} ${words}: ` +
      "divide the rows between several imports",
  );
}

/** Problems of the rows: all are counted, the first `maxReported` by file and line are kept. */
export type ProblemList = {
  add(problem: RowProblem): void;
  /** In the order of the files, then of their lines. */
  list(): RowProblem[];
  count(): number;
};

export function openProblemList(
  maxReported: number,
  files: readonly Pick<FolderFile, "fileName" | "groupRows">[],
): ProblemList {
  const places = new Map(files.map(({ fileName }, index) => [fileName, index]));
  const placeOf = ({ file }: RowProblem): number => places.get(file) ?? 0;
  /** In one walk over both: a file may have as many row groups as it has problems. */
  const withGroups = (sorted: readonly RowProblem[]): RowProblem[] => {
    let at = { file: "", group: 0, lastLine: 0 };
    return sorted.map(({ file, ...problem }) => {
      const groupRows = files[places.get(file) ?? -1]?.groupRows;
      if (groupRows === undefined) return { file, ...problem };
      if (at.file !== file) at = { file, group: 0, lastLine: 0 };
      while (problem.line > at.lastLine && at.group < groupRows.length)
        at.lastLine += groupRows[(at.group += 1) - 1] ?? 0;
      return { file, row_group: at.group, ...problem };
    });
  };
  let kept: RowProblem[] = [];
  let count = 0;
  const first = (): RowProblem[] =>
    kept
      .toSorted((left, right) => placeOf(left) - placeOf(right) || left.line - right.line)
      .slice(0, maxReported);
  return {
    add: (problem) => {
      count += 1;
      kept.push(problem);
      if (kept.length >= 2 * maxReported) kept = first();
    },
    list: () => withGroups(first()),
    count: () => count,
  };
}

/** The projection's findings in the changed orders. */
export function projectionWarnings(counts: WarningCounts): ImportWarning[] {
  return [...counts].map(([kind, count]) => ({ kind, file: null, message: WARNING_TEXTS[kind], count }));
}

/** Results of splitting labels in this run. */
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
  rounded_amount: "amounts had more decimals than their currency and were rounded, halves away from zero",
  repeated_row: "rows have the key of a later row, which counts instead",
  unknown_deleted_row: "deleted rows name nothing that is stored, so nothing was removed",
  unknown_sale_sku: "SKUs of sale events are not in the catalogue and cannot be compared",
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

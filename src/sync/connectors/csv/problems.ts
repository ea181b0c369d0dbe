/** A row that cannot be used; `column` null = the row as a whole. `allowed`: what may stand there, as a phrase. */
export type RowProblem = {
  file: string;
  line: number;
  column: string | null;
  reason: string;
  allowed: string;
};

/** Something that did not stop a row from being used, and how often. */
export type ImportWarning = {
  kind:
    | "unknown_column"
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

/** A folder or file that cannot be read at all; nothing of the import has happened. */
export class ImportError extends Error {
  override name = "ImportError";
}

/** What is wrong with the rows: all are counted, the first `maxReported` by file and line are kept. */
export type ProblemList = {
  add(problem: RowProblem): void;
  /** In the order of the files, then of their lines. */
  list(): RowProblem[];
  count(): number;
};

export function openProblemList(maxReported: number, files: readonly { fileName: string }[]): ProblemList {
  const places = new Map(files.map(({ fileName }, index) => [fileName, index]));
  const placeOf = ({ file }: RowProblem): number => places.get(file) ?? 0;
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
    list: first,
    count: () => count,
  };
}

/** A row that cannot be used; `column` null = the row as a whole. */
export type RowProblem = { file: string; line: number; column: string | null; reason: string };

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

/** What is wrong with the rows: all are counted, the first `maxReported` are kept. */
export type ProblemList = {
  add(problem: RowProblem): void;
  /** Counts problems that are not reported one by one. */
  addUnlisted(count: number): void;
  /** How many more are going to be kept. */
  room(): number;
  /** By file, as they were read, and line. */
  list(): RowProblem[];
  count(): number;
};

export function openProblemList(maxReported: number): ProblemList {
  const kept: RowProblem[] = [];
  let count = 0;
  return {
    add: (problem) => {
      count += 1;
      if (kept.length < maxReported) kept.push(problem);
    },
    addUnlisted: (more) => {
      count += more;
    },
    room: () => maxReported - kept.length,
    list: () =>
      [...Map.groupBy(kept, (problem) => problem.file).values()].flatMap((problems) =>
        problems.toSorted((left, right) => left.line - right.line),
      ),
    count: () => count,
  };
}

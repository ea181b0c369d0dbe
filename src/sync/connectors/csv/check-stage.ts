import type { Connection } from "../../../store/database.ts";
import {
  analyzeStage,
  refuseExcessiveRefunds,
  refuseUnknownLines,
  removeRepeatedRows,
} from "../../../store/queries/import-stage.ts";
import type { RefusedRow } from "../../../store/queries/import-stage.ts";
import { FILE_FORMATS, FILE_OF_KIND } from "./file-formats.ts";
import type { FileName } from "./file-formats.ts";
import type { FolderFile } from "./folder-files.ts";
import type { ImportWarning, ProblemList } from "./problems.ts";

export type CheckOptions = {
  connection: Connection;
  shopKey: number;
  files: readonly FolderFile[];
  problems: ProblemList;
  warnings: ImportWarning[];
};

/**
 * Checks what depends on all rows together: of rows with one key the last stays; returns and refunds must name
 * lines of the folder or of an earlier import that the folder does not delete; a refund must not exceed its line. Refused rows leave the stage.
 */
export async function checkStage(options: CheckOptions): Promise<void> {
  const { connection, shopKey, problems } = options;
  await analyzeStage(connection);
  await removeRepetitions(options);
  const unknown = await refuseUnknownLines(connection, shopKey, Math.max(1, problems.room()));
  addProblems(
    options,
    unknown,
    "line_id",
    (row) =>
      `names the line ${quoted(row.line_id)} of order ${quoted(row.order_id)}, which is unknown or deleted`,
  );
  const excessive = await refuseExcessiveRefunds(connection, shopKey, Math.max(1, problems.room()));
  addProblems(
    options,
    excessive,
    "units",
    (row) => `is more than the units of the line ${quoted(row.line_id)} of order ${quoted(row.order_id)}`,
  );
}

/** Of staged rows with one key only the last stays; each kind of which some were removed is a warning. */
export async function removeRepetitions(
  options: Pick<CheckOptions, "connection" | "files" | "warnings">,
): Promise<void> {
  const tables = new Set(options.files.map((file) => FILE_FORMATS[file.name].table));
  for (const table of tables) {
    for (const { kind, removed } of await removeRepeatedRows(options.connection, table)) {
      options.warnings.push({
        kind: "repeated_row",
        file: fileNameOf(options, FILE_OF_KIND[kind] ?? tableFile(table)),
        message: "rows have the key of a later row, which is the one that counts",
        count: removed,
      });
    }
  }
}

function addProblems(
  options: CheckOptions,
  rows: readonly RefusedRow[],
  column: string,
  reasonOf: (row: RefusedRow) => string,
): void {
  for (const row of rows) {
    const file = fileNameOf(options, FILE_OF_KIND[row.kind]);
    options.problems.add({ file, line: row.line_number, column, reason: reasonOf(row) });
  }
  options.problems.addUnlisted((rows[0]?.total ?? 0) - rows.length);
}

function tableFile(table: string): FileName | undefined {
  return (Object.keys(FILE_FORMATS) as FileName[]).find((name) => FILE_FORMATS[name].table === table);
}

function fileNameOf(options: Pick<CheckOptions, "files">, name: FileName | undefined): string {
  return options.files.find((file) => file.name === name)?.fileName ?? `${name}.csv`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

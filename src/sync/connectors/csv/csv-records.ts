import { parse, type CsvError } from "csv-parse";
import { ImportError } from "./problems.ts";

const MAX_RECORD_CHARACTERS = 1024 * 1024;

/**
 * Parses CSV text and hands over each record with the line it starts on, the header first. Blank lines are
 * skipped. After each chunk `onChunk` is awaited, which limits reading to the speed of writing. Throws ImportError for text
 * that is not CSV.
 */
export async function readRecords(
  fileName: string,
  text: AsyncIterable<string>,
  onRecord: (cells: string[], line: number) => void,
  onChunk: () => Promise<void>,
): Promise<void> {
  let records = 0;
  let innerBreaks = 0;
  let emptyLines = 0;
  let failure: Error | undefined;
  const parser = parse({
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ["\r\n", "\n", "\r"],
    max_record_size: MAX_RECORD_CHARACTERS,
    on_record: (cells: string[], context) => {
      emptyLines = context.empty_lines;
      const line = records + innerBreaks + emptyLines + 1;
      records += 1;
      for (const cell of cells) if (HAS_BREAK.test(cell)) innerBreaks += cell.match(BREAKS)?.length ?? 0;
      try {
        onRecord(cells, line);
      } catch (error) {
        failure ??= error as Error;
      }
      return null;
    },
  });
  const nextLine = (): number => records + innerBreaks + emptyLines + 1;
  parser.on("error", () => {});
  const feed = (chunk: string | null): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (error?: Error | null): void => {
        const found = failure ?? (error ? notCsv(fileName, nextLine(), error as CsvError) : undefined);
        if (found === undefined) resolve();
        else reject(found);
      };
      if (chunk === null) {
        parser.once("error", done);
        parser.end(() => done());
      } else {
        parser.write(chunk, done);
      }
    });
  parser.resume();
  for await (const chunk of text) {
    await feed(chunk);
    await onChunk();
  }
  await feed(null);
}

const HAS_BREAK = /[\r\n]/;
const BREAKS = /\r\n|\r|\n/g;

const REASONS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quote is opened and never closed",
  CSV_INVALID_CLOSING_QUOTE: "text follows a closing quote",
  INVALID_OPENING_QUOTE: "there is a quote inside an unquoted cell",
  CSV_MAX_RECORD_SIZE: `a row is longer than ${MAX_RECORD_CHARACTERS} characters`,
};

function notCsv(fileName: string, line: number, error: CsvError): ImportError {
  return new ImportError(`${fileName}: line ${line}: not CSV, ${REASONS[error.code] ?? error.message}`);
}

import { CsvError, parse } from "csv-parse/sync";
import { ImportError } from "./problems.ts";

const MAX_RECORD_CHARACTERS = 1024 * 1024;
/** A line of as many characters cannot be a longer record than that in bytes. */
const MAX_PLAIN_CHARACTERS = MAX_RECORD_CHARACTERS / 4;

const BREAKS = /\r\n|\r|\n/g;
/** What follows a carriage return at the end of a chunk is not known yet. */
const BREAKS_OF_CHUNK = /\r\n|\r(?!$)|\n/g;
const BREAKS_OF_END = /\r\n|\r|\n|$/g;

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
  let line = 1;
  const readQuoted = (records: string): void => {
    try {
      parse(records, {
        relax_column_count: true,
        record_delimiter: ["\r\n", "\n", "\r"],
        max_record_size: MAX_RECORD_CHARACTERS,
        on_record: (cells: string[]) => {
          onRecord(cells, line);
          line += 1;
          for (const cell of cells) line += cell.match(BREAKS)?.length ?? 0;
          return null;
        },
      });
    } catch (error) {
      throw error instanceof CsvError ? notCsv(fileName, line, error.code) : error;
    }
  };
  // Where the first line of the rest begins that was not looked at, and whether that is inside quotes.
  let [lineStart, isOpen] = [0, false];
  /** Reads the whole records of a chunk, and returns the rest. A line without quotes needs no parser, which would take most of the time. */
  const readWhole = (chunk: string, isEnd: boolean): string => {
    let [recordStart, quotedStart] = [0, isOpen ? 0 : -1];
    const breaks = isEnd ? BREAKS_OF_END : BREAKS_OF_CHUNK;
    breaks.lastIndex = lineStart;
    for (const { 0: lineBreak, index } of chunk.matchAll(breaks)) {
      const written = chunk.slice(lineStart, index);
      lineStart = index + lineBreak.length;
      if (isOpen || written.length > MAX_PLAIN_CHARACTERS || written.includes('"')) {
        if (quotedStart < 0) quotedStart = recordStart;
        isOpen = isOpen !== (written.split('"').length % 2 === 0);
      } else {
        if (quotedStart >= 0) readQuoted(chunk.slice(quotedStart, recordStart));
        quotedStart = -1;
        if (written !== "") onRecord(written.split(","), line);
        line += 1;
      }
      if (!isOpen) recordStart = lineStart;
    }
    if (quotedStart >= 0) readQuoted(chunk.slice(quotedStart, isEnd ? chunk.length : recordStart));
    lineStart -= recordStart;
    return chunk.slice(recordStart);
  };
  let rest = "";
  for await (const chunk of text) {
    rest = readWhole(rest + chunk, false);
    if (rest.length > 4 * MAX_RECORD_CHARACTERS) {
      const tooLong = notCsv(fileName, line, "CSV_MAX_RECORD_SIZE");
      // What is wrong at its start comes first.
      readQuoted(rest);
      throw tooLong;
    }
    await onChunk();
  }
  readWhole(rest, true);
}

const REASONS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quote is opened and never closed",
  CSV_INVALID_CLOSING_QUOTE: "text follows a closing quote",
  INVALID_OPENING_QUOTE: "there is a quote inside an unquoted cell",
  CSV_MAX_RECORD_SIZE: `a row is longer than ${MAX_RECORD_CHARACTERS} characters`,
};

function notCsv(fileName: string, line: number, code: string): ImportError {
  return new ImportError(`${fileName}: line ${line}: not CSV, ${REASONS[code] ?? code}`);
}

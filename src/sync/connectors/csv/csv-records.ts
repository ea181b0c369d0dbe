import { ImportError } from "./problems.ts";

const MAX_RECORD_CHARACTERS = 1024 * 1024;

const BREAKS = /\r\n|\r|\n/g;
/** What follows a carriage return at the end of a chunk is not known yet. */
const BREAKS_OF_CHUNK = /\r\n|\r(?!$)|\n/g;
const BREAKS_OF_END = /\r\n|\r|\n|$/g;

/**
 * Splits CSV text and hands over each record with the line it starts on, the header first. Blank lines are
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
  const fail = (reason: string): ImportError =>
    new ImportError(`${fileName}: line ${line}: not CSV, ${reason}`);
  const readQuoted = (record: string): void => {
    const cells = quotedCells(record);
    if (typeof cells === "string") throw fail(cells);
    refuseLong(record);
    onRecord(cells, line);
    line += 1 + (record.match(BREAKS)?.length ?? 0);
  };
  const refuseLong = ({ length }: string): void => {
    if (length > MAX_RECORD_CHARACTERS) throw fail(TOO_LONG);
  };
  // Where the first line of the rest that was not examined begins, and whether that is inside quotes.
  let [lineStart, isOpen] = [0, false];
  /** Reads the whole records of a chunk, and returns the rest. */
  const readWhole = (chunk: string, isEnd: boolean): string => {
    let recordStart = 0;
    const breaks = isEnd ? BREAKS_OF_END : BREAKS_OF_CHUNK;
    breaks.lastIndex = lineStart;
    for (const { 0: lineBreak, index } of chunk.matchAll(breaks)) {
      const written = chunk.slice(lineStart, index);
      const hasQuotes = written.includes('"');
      if (hasQuotes || isOpen) {
        isOpen = isOpen !== (hasQuotes && written.split('"').length % 2 === 0);
        if (!isOpen) readQuoted(chunk.slice(recordStart, index));
      } else {
        refuseLong(written);
        if (written !== "") onRecord(written.split(","), line);
        line += 1;
      }
      lineStart = index + lineBreak.length;
      if (!isOpen) recordStart = lineStart;
    }
    if (isEnd && isOpen) readQuoted(chunk.slice(recordStart));
    lineStart -= recordStart;
    return chunk.slice(recordStart);
  };
  let rest = "";
  for await (const chunk of text) {
    rest = readWhole(rest + chunk, false);
    if (rest.length > MAX_RECORD_CHARACTERS) {
      // What is wrong at its start comes first.
      const problem = quotedCells(rest);
      throw fail(typeof problem === "string" && problem !== NOT_CLOSED ? problem : TOO_LONG);
    }
    await onChunk();
  }
  readWhole(rest, true);
}

const NOT_CLOSED = "a quote is opened and never closed";
const TEXT_AFTER_QUOTE = "text follows a closing quote";
const QUOTE_INSIDE = "there is a quote inside an unquoted cell";
const TOO_LONG = `a row is longer than ${MAX_RECORD_CHARACTERS} characters`;

/** The cells of a record that may have quotes, or what is wrong with the first one that is not CSV. */
function quotedCells(record: string): string[] | string {
  const cells: string[] = [];
  for (let start = 0; ;) {
    const isQuoted = record[start] === '"';
    const end = isQuoted ? endOfQuoted(record, start + 1) : endOfPlain(record, start);
    if (end === -1) return NOT_CLOSED;
    if (isQuoted && end < record.length && record[end] !== ",") return TEXT_AFTER_QUOTE;
    const cell = record.slice(start, end);
    if (!isQuoted && cell.includes('"')) return QUOTE_INSIDE;
    cells.push(isQuoted ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === record.length) return cells;
    start = end + 1;
  }
}

/** Behind the closing quote; -1 = there is none. */
function endOfQuoted(record: string, start: number): number {
  let quote = record.indexOf('"', start);
  while (quote !== -1 && record[quote + 1] === '"') quote = record.indexOf('"', quote + 2);
  return quote === -1 ? -1 : quote + 1;
}

function endOfPlain(record: string, start: number): number {
  const comma = record.indexOf(",", start);
  return comma === -1 ? record.length : comma;
}

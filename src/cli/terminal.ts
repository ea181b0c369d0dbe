import { createInterface } from "node:readline/promises";
import { impossible, invalid } from "../actions/refusal.ts";
import { formatFields, formatRows, PLAIN, type Cell, type Columns, type TextStyle } from "../lib/table.ts";

/** A command's output: data to stdout, messages to stderr. */
export type Terminal = {
  isJson: boolean;
  /** How tables and fields are written: as wide as the terminal, in full off a terminal. */
  style: TextStyle;
  /** One JSON document with --json, else the text for people. */
  print: (document: unknown, text: string) => void;
  /** The same for rows: a table, or the document, by default the rows themselves. */
  printTable: <Row extends object>(rows: readonly Row[], columns: Columns<Row>, document?: unknown) => void;
  /** The same for one object: names and values, or the document, by default the fields themselves. */
  printFields: (fields: object, document?: unknown) => void;
  /** A message, one line. */
  tell: (line: string) => void;
  /** A message for people only: left out with --json. */
  hint: (line: string) => void;
  /**
   * Asks before a destructive action, and throws a `Refusal` on a no, or without a person to ask (no terminal, or --json): a
   * script passes --yes, or the option in `instead`.
   */
  confirm: (question: string, signal: AbortSignal, instead?: string) => Promise<void>;
  /** A line that is overwritten by the next one, and removed by "". Shown on a terminal only. */
  showStatus: (line: string) => void;
  /** The same, for how much of a total is done. */
  showProgress: (label: string, done: number, total: number) => void;
};

type TerminalOptions = {
  isJson: boolean;
  /** Without cursor movement and colours. */
  isDumb: boolean;
  /** NO_COLOR is set. */
  isPlain: boolean;
};

export function createTerminal(options: TerminalOptions): Terminal {
  const { isJson } = options;
  const showsStatus = process.stderr.isTTY && !options.isDumb && !isJson;
  // Whether somebody is there to be asked.
  const hasPerson = process.stdin.isTTY && process.stderr.isTTY && !isJson;
  let hasStatus = false;
  const clearStatus = (): void => {
    if (hasStatus) process.stderr.write("\r\u001b[K");
    hasStatus = false;
  };
  const tell = (line: string): void => {
    clearStatus();
    process.stderr.write(`${line}\n`);
  };
  const print = (document: unknown, text: string): void => {
    clearStatus();
    process.stdout.write(isJson ? `${JSON.stringify(document, null, 2)}\n` : text);
  };
  const showStatus = (line: string): void => {
    if (!showsStatus) return;
    clearStatus();
    const width = Math.max(20, (process.stderr.columns || 80) - 1);
    process.stderr.write(Array.from(line).slice(0, width).join(""));
    hasStatus = line !== "";
  };
  const style = styleOf(options);
  return {
    isJson,
    style,
    print,
    printTable: (rows, columns, document = rows) => print(document, formatRows(rows, columns, style)),
    printFields: (fields, document = fields) =>
      print(document, formatFields(fields as Record<string, Cell>, style)),
    tell,
    hint: (line) => {
      if (!isJson) tell(line);
    },
    confirm: async (question, signal, instead = "add --yes to confirm") => {
      if (!hasPerson) throw invalid(`${question} There is no terminal to ask on: ${instead}.`);
      if (!(await ask(question, signal))) throw impossible("Nothing was changed.");
    },
    showStatus,
    showProgress: createProgress(showStatus),
  };
}

function styleOf({ isDumb, isPlain }: TerminalOptions): TextStyle {
  if (!process.stdout.isTTY) return PLAIN;
  return {
    widthCharacters: process.stdout.columns || null,
    now: new Date(),
    hasColor: !isDumb && !isPlain,
  };
}

/** Line mode, so that Ctrl-C remains a signal. The end of the input means no. */
async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const end = new Promise<string>((done) => lines.once("close", () => done("")));
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), end]);
    return /^y(es)?$/iu.test(answer.trim());
  } finally {
    lines.close();
  }
}

const BAR_WIDTH = 24;
const LABEL_WIDTH = 26;
const REDRAW_MS = 100;

/** Draws `done` of `total` by `draw`, at most ten times a second. */
function createProgress(draw: (line: string) => void) {
  let drawnAt = 0;
  let drawnLabel = "";
  return (label: string, done: number, total: number): void => {
    const now = Date.now();
    if (label === drawnLabel && done < total && now - drawnAt < REDRAW_MS) return;
    drawnAt = now;
    drawnLabel = label;
    draw(progressLine(label, done, total));
  };
}

/** Such as `Merging orders [############------------]  50 %`. */
export function progressLine(label: string, done: number, total: number): string {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "#".repeat(filled) + "-".repeat(BAR_WIDTH - filled);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `${label.padEnd(LABEL_WIDTH)} [${bar}] ${percent} %`;
}

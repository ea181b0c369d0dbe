import { relativeTime } from "./relative-time.ts";

/** A cell for people: null and absent are shown as a dash, times in UTC. */
export type Cell = string | number | boolean | Date | null | undefined | readonly string[];

/** A terminal's capabilities; a file or a pipe gets the full output (`PLAIN`). */
export type TextStyle = {
  /** Characters in a line; null = as many as it takes. */
  widthCharacters: number | null;
  /** Times are shown relative to it; null = as they are. */
  now: Date | null;
  hasColor: boolean;
};

export const PLAIN: TextStyle = { widthCharacters: null, now: null, hasColor: false };

const GAP = "  ";
const LEAST_COLUMN_CHARACTERS = 6;

/**
 * Rows under headings, in columns as wide as they need, numbers to the right. Where that is wider than a line, the widest
 * columns are made narrower and their text is wrapped; where not even that helps, each row is a list of fields. Ends with
 * a newline.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: TextStyle = PLAIN,
): string {
  const cells = rows.map((row) => headings.map((_, column) => cellText(row[column], style)));
  const isNumeric = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === "number"),
  );
  const natural = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...cells.map((row) => widthOf(row[column] ?? ""))),
  );
  const widths = fitted(natural, isNumeric, style.widthCharacters);
  if (widths === null) return formatRecords(headings, rows, style);
  const render = (line: readonly string[], paint: (text: string, cell: string) => string): string => {
    const wrapped = line.map((text, column) => wrap(text, widths[column] ?? 0));
    const height = Math.max(...wrapped.map((parts) => parts.length));
    return Array.from({ length: height }, (_, index) => {
      const parts = wrapped.map((lines, column) => {
        const text = lines[index] ?? "";
        const padded = pad(text, widths[column] ?? 0, isNumeric[column] === true);
        return paint(padded, line[column] ?? "");
      });
      return `${trimmedEnd(parts.join(GAP))}\n`;
    }).join("");
  };
  const { hasColor } = style;
  const heading = render(headings, (text) => (hasColor ? painted(text, BOLD) : text));
  return heading + cells.map((line) => render(line, (text, cell) => colored(text, cell, hasColor))).join("");
}

type CellName<Row> = { [Name in keyof Row]: Row[Name] extends Cell ? Name : never }[keyof Row];

/** By heading, the member of a row that its column shows, or what makes its cell. */
export type Columns<Row> = Readonly<Record<string, CellName<Row> | ((row: Row) => Cell)>>;

export function cellOf<Row>(row: Row, column: Columns<Row>[string]): Cell {
  return typeof column === "function" ? column(row) : (row[column] as Cell);
}

/** `formatTable` of rows that are objects. */
export function formatRows<Row extends object>(
  rows: readonly Row[],
  columns: Columns<Row>,
  style: TextStyle = PLAIN,
): string {
  const cells = rows.map((row) => Object.values(columns).map((column) => cellOf(row, column)));
  return formatTable(Object.keys(columns), cells, style);
}

/** One `name  value` line per entry. Ends with a newline. */
export function formatFields(fields: Readonly<Record<string, Cell>>, style: TextStyle = PLAIN): string {
  const width = Math.max(0, ...Object.keys(fields).map((name) => name.length));
  return Object.entries(fields)
    .map(([name, value]) => {
      const text = cellText(value, style);
      return `${name.padEnd(width)}${GAP}${colored(text, text, style.hasColor)}\n`;
    })
    .join("");
}

function formatRecords(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: TextStyle,
): string {
  return rows
    .map((row) =>
      formatFields(Object.fromEntries(headings.map((heading, column) => [heading, row[column]])), style),
    )
    .join("\n");
}

/** Widths of columns that fit into a line, the widest made narrower first; null = they cannot. Numbers keep theirs. */
function fitted(
  natural: readonly number[],
  isNumeric: readonly boolean[],
  widthCharacters: number | null,
): number[] | null {
  const widths = [...natural];
  if (widthCharacters === null) return widths;
  let excess = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - widthCharacters;
  for (; excess > 0; excess -= 1) {
    const wrappable = widths.map((width, column) => (isNumeric[column] === true ? 0 : width));
    const widest = wrappable.indexOf(Math.max(...wrappable));
    if ((wrappable[widest] ?? 0) <= LEAST_COLUMN_CHARACTERS) return null;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** Lines of at most `width` characters, broken at blanks and commas where there are any. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = Array.from(text);
  while (rest.length > width) {
    const breakAt = rest.slice(0, width + 1).findLastIndex((character) => character === " ");
    const commaAt = rest.slice(0, width).findLastIndex((character) => character === ",");
    const end = breakAt > 0 ? breakAt : commaAt > 0 ? commaAt + 1 : width;
    lines.push(rest.slice(0, end).join(""));
    rest = rest.slice(breakAt > 0 ? end + 1 : end);
  }
  return [...lines, rest.join("")];
}

function cellText(value: Cell, { now }: TextStyle): string {
  if (value === null || value === undefined) return "-";
  if (value instanceof Date) return now === null ? value.toISOString() : relativeTime(value, now);
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(",");
  return String(value);
}

const BOLD = 1;
const RED = 31;
const GREEN = 32;
const YELLOW = 33;

/** Colours of the states in commands, and of no other words. */
const COLORS: ReadonlyMap<string, number> = new Map([
  ...["ok", "succeeded", "ready", "active"].map((word) => [word, GREEN] as const),
  ...["PROBLEM", "failed", "disconnected", "revoked", "inactive"].map((word) => [word, RED] as const),
  ...[
    "running",
    "syncing",
    "interrupted",
    "installing",
    "backfilling",
    "reconnecting",
    "erasing",
    "moving",
    "expired",
  ].map((word) => [word, YELLOW] as const),
]);

function colored(text: string, cell: string, hasColor: boolean): string {
  const color = hasColor ? COLORS.get(cell.split(",", 1)[0] ?? "") : undefined;
  return color === undefined ? text : painted(text, color);
}

/** Surrounding blanks are unchanged, so that lines can be trimmed. */
function painted(text: string, color: number): string {
  const inner = text.trim();
  return inner === "" ? text : text.replace(inner, () => `\u001b[${color}m${inner}\u001b[0m`);
}

function trimmedEnd(line: string): string {
  return line.replace(/(?<! ) +$/u, "");
}

function pad(text: string, width: number, toRight: boolean): string {
  const padding = " ".repeat(Math.max(0, width - widthOf(text)));
  return toRight ? padding + text : text + padding;
}

/** Characters as people count them, not UTF-16 units. */
function widthOf(text: string): number {
  return Array.from(text).length;
}

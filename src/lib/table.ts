/** A cell for people: null and absent are shown as a dash, times in UTC. */
export type Cell = string | number | boolean | Date | null | undefined | readonly string[];

/** Rows under headings, in columns as wide as they need, numbers to the right. Ends with a newline. */
export function formatTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(cellText))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ""))));
  const isNumeric = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === "number"),
  );
  return lines
    .map((line) =>
      headings
        .map((_, column) => pad(line[column] ?? "", widths[column] ?? 0, isNumeric[column] === true))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** One `name  value` line per entry. Ends with a newline. */
export function formatFields(fields: Readonly<Record<string, Cell>>): string {
  const width = Math.max(0, ...Object.keys(fields).map((name) => name.length));
  return Object.entries(fields)
    .map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}\n`)
    .join("");
}

function cellText(value: Cell): string {
  if (value === null || value === undefined) return "-";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(",");
  return String(value);
}

function pad(text: string, width: number, toRight: boolean): string {
  const padding = " ".repeat(Math.max(0, width - widthOf(text)));
  return toRight ? padding + text : text + padding;
}

/** Characters as people count them, not UTF-16 units. */
function widthOf(text: string): number {
  return Array.from(text).length;
}

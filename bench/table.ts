/** One measured row: a value with its unit, and what it is compared with. */
export type BenchRow = { name: string; value: string; floor: string; ratio: string; target: string };

/** Columns aligned for a terminal. */
export function formatTable(rows: readonly BenchRow[]): string {
  const lines = [
    ["measured", "value", "floor", "ratio", "target"],
    ...rows.map((row) => [row.name, row.value, row.floor, row.ratio, row.target]),
  ];
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

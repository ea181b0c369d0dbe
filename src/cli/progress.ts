const BAR_WIDTH = 24;
const LABEL_WIDTH = 26;
const REDRAW_MS = 100;

/** Draws `done` of `total` by `draw`, at most ten times a second. */
export function createProgress(draw: (line: string) => void) {
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

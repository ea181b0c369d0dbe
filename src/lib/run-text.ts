/** 0.4 s, 12 s, 3 min 5 s, 2 h 10 min. */
export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** 1,200 orders, 1 changed order. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString("en")} ${nounOf(name.replaceAll("_", " "), count)}`)
    .join(", ");
}

/** Counts have regular plurals as their names: "changed orders". */
function nounOf(plural: string, count: number): string {
  return count === 1 ? plural.replace(/s$/u, "") : plural;
}

/** Where a run is, or how far it came: `orders 1,200 of 5,000`; null before its first stage. */
export function stageText(run: { stage: string | null; done: number; total: number | null }): string | null {
  if (run.stage === null) return null;
  const total = run.total === null ? "" : ` of ${run.total.toLocaleString("en")}`;
  return `${run.stage.replaceAll("_", " ")} ${run.done.toLocaleString("en")}${total}`;
}

/** Which try failed and when the next one follows: `try 2 failed: …; tried again at 12:34:56 UTC`. */
export function retryText(retry: { try: number; error: string | null; run_after: Date }): string {
  const reason = retry.error === null ? "" : `: ${retry.error.replace(/\.$/u, "")}`;
  return `try ${retry.try} failed${reason}; tried again at ${retry.run_after.toISOString().slice(11, 19)} UTC`;
}

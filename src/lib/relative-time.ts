const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** From then on a calendar date is clearer. */
const LONGEST_MS = 60 * DAY_MS;

/** A moment as people say it: `just now`, `5 min ago`, `in 3 h`, `12 days ago`, `2025-11-03`. */
export function relativeTime(moment: Date, now: Date): string {
  const distanceMs = Math.abs(now.getTime() - moment.getTime());
  if (distanceMs < MINUTE_MS) return "just now";
  if (distanceMs >= LONGEST_MS) return moment.toISOString().slice(0, 10);
  const text = distanceText(distanceMs);
  return moment < now ? `${text} ago` : `in ${text}`;
}

export function distanceText(distanceMs: number): string {
  if (distanceMs < HOUR_MS) return `${Math.floor(distanceMs / MINUTE_MS)} min`;
  if (distanceMs < 2 * DAY_MS) return `${Math.floor(distanceMs / HOUR_MS)} h`;
  return `${Math.floor(distanceMs / DAY_MS)} days`;
}

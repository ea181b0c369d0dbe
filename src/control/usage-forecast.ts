/** Where the day's quota goes if the rest of the day is like what has passed of it. */
export type UsageForecast = {
  /** When the quota is used up; null = not today. */
  used_up_at: Date | null;
  /** Requests by the end of the day, without the limit. */
  requests_by_reset: number;
};

const DAY_MS = 86_400_000;
/** Of less than an hour nothing follows. */
const LEAST_ELAPSED_MS = 3_600_000;

/**
 * The forecast of a UTC day, told the time: as many requests an hour as until now. null = there is no quota, nothing was
 * asked yet, the day is too young, or the quota is used up already.
 */
export function forecastUsage(used: number, quota: number | null, now: Date): UsageForecast | null {
  const startMs = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const elapsedMs = now.getTime() - startMs;
  if (quota === null || used === 0 || used >= quota || elapsedMs < LEAST_ELAPSED_MS) return null;
  const untilUsedUpMs = (elapsedMs * quota) / used;
  return {
    used_up_at: untilUsedUpMs < DAY_MS ? new Date(startMs + untilUsedUpMs) : null,
    requests_by_reset: Math.round((used * DAY_MS) / elapsedMs),
  };
}

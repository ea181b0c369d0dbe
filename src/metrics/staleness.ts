const STALE_AFTER_MS = 36 * 3_600_000;

/**
 * How old a source is in milliseconds when that is too old: more than 36 hours since its last sync or, where that is what
 * counts, since it was connected. Null while it is not; an absent instant is older than any. For freshness, the health check
 * and alerts alike.
 */
export function staleForMs(since: Date | null, now: Date): number | null {
  const ageMs = since === null ? Infinity : now.getTime() - since.getTime();
  return ageMs > STALE_AFTER_MS ? ageMs : null;
}

/** Data synced before this time is stale. */
export function staleSince(now: Date): Date {
  return new Date(now.getTime() - STALE_AFTER_MS);
}

/** Age in milliseconds beyond which a source's last sync is stale: 36 hours, for freshness and alerts alike. */
export const STALE_AFTER_MS = 36 * 3_600_000;

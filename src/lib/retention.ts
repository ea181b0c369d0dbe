/** Days for which upkeep keeps rows that grow with time; Infinity: forever. The names are those of `Config`. */
export type Retention = {
  keepRunsDays: number;
  /** Webhook deliveries, and the runs that they request. */
  keepDeliveriesDays: number;
  /** Of workspaces, the installation and people. */
  keepAuditDays: number;
  /** Totals of days and their details. */
  keepUsageDays: number;
};

/** "for 90 days", or "forever". */
export function keptText(days: number): string {
  return days === Number.POSITIVE_INFINITY ? "forever" : `for ${days} days`;
}

/** How far back a list of runs reaches. */
export function keptRunsText({ keepRunsDays, keepDeliveriesDays }: Retention): string {
  return `Runs are kept ${keptText(keepRunsDays)}, ${keptText(keepDeliveriesDays)} if a webhook requested them.`;
}

/** How far back the audit reaches; null = to its beginning. */
export function keptAuditText({ keepAuditDays }: Pick<Retention, "keepAuditDays">): string | null {
  return keepAuditDays === Number.POSITIVE_INFINITY ? null : `Entries are kept ${keptText(keepAuditDays)}.`;
}

/** All of it, for the health check. */
export function retentionText({
  keepRunsDays,
  keepDeliveriesDays,
  keepAuditDays,
  keepUsageDays,
}: Retention): string {
  return [
    `runs ${keptText(keepRunsDays)}`,
    `webhook deliveries ${keptText(keepDeliveriesDays)}`,
    `audit ${keptText(keepAuditDays)}`,
    `usage ${keptText(keepUsageDays)}`,
  ].join(", ");
}

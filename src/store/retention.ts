/** For how many days upkeep keeps rows that grow with time; Infinity = forever. The names are those of `Config`. */
export type Retention = {
  keepRunsDays: number;
  /** Webhook deliveries, and the runs that they ask for. */
  keepDeliveriesDays: number;
  /** Of workspaces, the installation and people. */
  keepAuditDays: number;
  /** Totals of days and their details. */
  keepUsageDays: number;
};

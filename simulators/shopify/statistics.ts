/** What the simulator has seen; `/control/statistics` shows it. */
export interface Statistics {
  requests: number;
  cost: number;
  highestCost: number;
  throttled: number;
  refusedForCost: number;
  unauthorized: number;
  refreshes: number;
  bulkRuns: number;
  bulkRunningMost: number;
  bulkDownloads: number;
  webhooksSent: number;
  webhooksRefused: number;
  /** Requests by the name of their operation. */
  operations: Record<string, number>;
}

export function emptyStatistics(): Statistics {
  return {
    requests: 0,
    cost: 0,
    highestCost: 0,
    throttled: 0,
    refusedForCost: 0,
    unauthorized: 0,
    refreshes: 0,
    bulkRuns: 0,
    bulkRunningMost: 0,
    bulkDownloads: 0,
    webhooksSent: 0,
    webhooksRefused: 0,
    operations: {},
  };
}

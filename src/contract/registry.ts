import { alerts } from "./alerts.ts";
import type { Endpoint } from "./endpoint.ts";
import { entities } from "./entities.ts";
import { exportReport } from "./export-report.ts";
import { exportTable } from "./export-table.ts";
import { exportTables } from "./export-tables.ts";
import { report } from "./report.ts";
import { returnCostLeaderboard } from "./return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./return-rate-leaderboard.ts";
import { summary } from "./summary.ts";
import { timeseries } from "./timeseries.ts";

/** Every endpoint of the contract, in the order of the documents. */
export const ENDPOINTS = [
  entities,
  summary,
  report,
  timeseries,
  returnRateLeaderboard,
  returnCostLeaderboard,
  alerts,
  exportReport,
  exportTables,
  exportTable,
] as const satisfies readonly Endpoint[];

export type AnyEndpoint = (typeof ENDPOINTS)[number];

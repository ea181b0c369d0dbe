import { createAdmit } from "./admission/admit.ts";
import { createAnswers } from "./admission/answers.ts";
import { createGiveBack } from "./admission/give-back.ts";
import { createOperation } from "./admission/operation.ts";
import type { Gate, Operation } from "./admission/operation.ts";
import { createShopNodes } from "./admission/shop-nodes.ts";
import { createShopQueue } from "./admission/shop-queue.ts";
import type { Config } from "./config.ts";
import { alerts as alertsContract } from "./contract/alerts.ts";
import { entities as entitiesContract } from "./contract/entities.ts";
import { exportReport as exportReportContract } from "./contract/export-report.ts";
import { report as reportContract } from "./contract/report.ts";
import { returnCostLeaderboard as returnCostLeaderboardContract } from "./contract/return-cost-leaderboard.ts";
import { returnRateLeaderboard as returnRateLeaderboardContract } from "./contract/return-rate-leaderboard.ts";
import { summary as summaryContract } from "./contract/summary.ts";
import { timeseries as timeseriesContract } from "./contract/timeseries.ts";
import { alerts } from "./endpoints/alerts.ts";
import { createCursorCodec } from "./endpoints/cursor.ts";
import { entities } from "./endpoints/entities.ts";
import { exportReport } from "./endpoints/export-report.ts";
import { freshness } from "./endpoints/meta.ts";
import { report } from "./endpoints/report.ts";
import { returnCostLeaderboard } from "./endpoints/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./endpoints/return-rate-leaderboard.ts";
import { summary } from "./endpoints/summary.ts";
import { timeseries } from "./endpoints/timeseries.ts";
import type { Keys } from "./lib/keys.ts";
import type { Metrics } from "./operations.ts";
import type { Database } from "./store/database.ts";
import { findDataVersion } from "./store/queries/data-version.ts";

/** Of a request for its admission, and for a turn of its shop. */
export const LONGEST_WAIT_MS = 3000;

/** `isDistributed`: whether Citus spreads the shops over nodes. */
export type RequestDatabases = { admission: Database; reading: Database; isDistributed: boolean };

/** What each request passes before its handler. */
export function createGate(config: Config, keys: Keys, databases: RequestDatabases, metrics: Metrics): Gate {
  const { admission, reading, isDistributed } = databases;
  return {
    admit: createAdmit({
      database: admission,
      pepper: keys.tokenPepper,
      connections: config.maxConnections,
      nodeOfShop: isDistributed ? createShopNodes(reading) : null,
      onOverQuota: metrics.countQuotaRefusal,
    }),
    answers: createAnswers({
      memoryBytes: config.answerMemoryMegabytes * 1_048_576,
      freshness,
      findDataVersion: ({ shopKey }) => findDataVersion(reading, shopKey),
    }),
    shopQueue: createShopQueue({
      places: config.maxConnections,
      mostPerShop: config.requestsPerShop,
      longestWaitMs: LONGEST_WAIT_MS,
    }),
    giveBack: createGiveBack(admission),
  };
}

/** Every endpoint of the contract with its handler. */
export function createOperations(gate: Gate, reading: Database, keys: Keys): Operation[] {
  const paged = { database: reading, cursors: createCursorCodec(keys.cursorKey) };
  return [
    createOperation(entitiesContract, (call) => entities(paged, call), gate),
    createOperation(summaryContract, (call) => summary(reading, call), gate),
    createOperation(reportContract, (call) => report(reading, call), gate),
    createOperation(timeseriesContract, (call) => timeseries(reading, call), gate),
    createOperation(returnRateLeaderboardContract, (call) => returnRateLeaderboard(reading, call), gate),
    createOperation(returnCostLeaderboardContract, (call) => returnCostLeaderboard(reading, call), gate),
    createOperation(alertsContract, (call) => alerts(paged, call), gate),
    createOperation(exportReportContract, (call) => exportReport(reading, call), gate),
  ];
}

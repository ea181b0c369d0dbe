import type { Answer } from "../contract/call.ts";
import type { AnyEndpoint } from "../contract/registry.ts";
import type { Database } from "../store/database.ts";
import { alerts } from "./alerts.ts";
import type { Call } from "./call.ts";
import type { CursorCodec } from "./cursor.ts";
import { createEntities } from "./entities.ts";
import { exportReport } from "./export-report.ts";
import { report } from "./report.ts";
import { returnCostLeaderboard } from "./return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./return-rate-leaderboard.ts";
import { summary } from "./summary.ts";
import { timeseries } from "./timeseries.ts";

/** A handler for every endpoint of the contract, by its name: a missing one is a type error. */
export type Handlers = { [E in AnyEndpoint as E["name"]]: (call: Call<E>) => Promise<Answer> };

export type HandlerTools = {
  database: Database;
  cursors: CursorCodec;
  /** Of the pool that handlers read with. */
  maxConnections: number;
};

export function createHandlers({ database, cursors, maxConnections }: HandlerTools): Handlers {
  return {
    entities: createEntities({ database, cursors }, maxConnections),
    summary: (call) => summary(database, call),
    report: (call) => report(database, call),
    timeseries: (call) => timeseries(database, call),
    "return-rate-leaderboard": (call) => returnRateLeaderboard(database, call),
    "return-cost-leaderboard": (call) => returnCostLeaderboard(database, call),
    alerts: (call) => alerts({ database, cursors }, call),
    "export-report": (call) => exportReport(database, call),
  };
}

import type { Answer } from "../contract/endpoint.ts";
import type { AnyEndpoint } from "../contract/registry.ts";
import { alerts } from "./alerts.ts";
import type { EndpointCall } from "./call.ts";
import type { CursorCodec } from "./cursor.ts";
import { entities } from "./entities.ts";
import { exportReport } from "./export-report.ts";
import { report } from "./report.ts";
import { returnCostLeaderboard } from "./return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./return-rate-leaderboard.ts";
import { summary } from "./summary.ts";
import { timeseries } from "./timeseries.ts";

/** A handler for every endpoint of the contract, by its name: a missing one is a type error. */
export type Handlers = { [E in AnyEndpoint as E["name"]]: (call: EndpointCall<E>) => Promise<Answer> };

/** `consoleAddress` is the origin of the console that links of alerts lead to; null = they lead nowhere. */
export function createHandlers(cursors: CursorCodec, consoleAddress: string | null): Handlers {
  return {
    entities: (call) => entities(cursors, call),
    summary,
    report,
    timeseries,
    "return-rate-leaderboard": returnRateLeaderboard,
    "return-cost-leaderboard": returnCostLeaderboard,
    alerts: (call) => alerts({ cursors, consoleAddress }, call),
    "export-report": exportReport,
  };
}

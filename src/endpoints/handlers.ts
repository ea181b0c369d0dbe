import type { Answer } from "../contract/endpoint.ts";
import type { AnyEndpoint } from "../contract/registry.ts";
import type { OpenStream } from "../store/snapshot-stream.ts";
import { alerts } from "./alerts.ts";
import type { EndpointCall } from "./call.ts";
import type { CursorCodec } from "./cursor.ts";
import { entities } from "./entities.ts";
import { exportReport } from "./export-report.ts";
import { exportTable } from "./export-table.ts";
import { exportTables } from "./export-tables.ts";
import { report } from "./report.ts";
import { returnCostLeaderboard } from "./return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./return-rate-leaderboard.ts";
import { summary } from "./summary.ts";
import { timeseries } from "./timeseries.ts";

/** A handler for every endpoint of the contract, by its name: a missing one is a type error. */
export type Handlers = { [E in AnyEndpoint as E["name"]]: (call: EndpointCall<E>) => Promise<Answer> };

type HandlerTools = {
  cursors: CursorCodec;
  /** The origin of the console that links of alerts lead to; null = they lead nowhere. */
  consoleAddress: string | null;
  openStream: OpenStream;
};

export function createHandlers({ cursors, consoleAddress, openStream }: HandlerTools): Handlers {
  return {
    entities: (call) => entities(cursors, call),
    summary,
    report,
    timeseries,
    "return-rate-leaderboard": returnRateLeaderboard,
    "return-cost-leaderboard": returnCostLeaderboard,
    alerts: (call) => alerts({ cursors, consoleAddress }, call),
    "export-report": exportReport,
    "export-tables": exportTables,
    "export-table": (call) => exportTable(openStream, call),
  };
}

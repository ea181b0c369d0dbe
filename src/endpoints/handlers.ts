import type { TArray, TObject } from "typebox";
import { alerts as alertsContract } from "../contract/alerts.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import { entities as entitiesContract } from "../contract/entities.ts";
import type { AnyEndpoint } from "../contract/registry.ts";
import { returnCostLeaderboard as costContract } from "../contract/return-cost-leaderboard.ts";
import { returnRateLeaderboard as rateContract } from "../contract/return-rate-leaderboard.ts";
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
  /** The console's origin for links of alerts; null: no links. */
  consoleAddress: string | null;
  openStream: OpenStream;
};

export function createHandlers({ cursors, consoleAddress, openStream }: HandlerTools): Handlers {
  return {
    entities: withFields(entitiesContract.response, (call) => entities(cursors, call)),
    summary,
    report,
    timeseries,
    "return-rate-leaderboard": withFields(rateContract.response, returnRateLeaderboard),
    "return-cost-leaderboard": withFields(costContract.response, returnCostLeaderboard),
    alerts: withFields(alertsContract.response, (call) => alerts({ cursors, consoleAddress }, call)),
    "export-report": exportReport,
    "export-tables": exportTables,
    "export-table": (call) => exportTable(openStream, call),
  };
}

type Row = Readonly<Record<string, unknown>>;

/** With `fields=required`, rows (`data`, or its `rows`) have only the members that the answer's schema requires. */
function withFields<Call extends { input: { fields?: "all" | "required" } }>(
  { properties: { data } }: { properties: { data: TArray<TObject> | TObject<{ rows: TArray<TObject> }> } },
  handler: (call: Call) => Promise<Answer>,
): (call: Call) => Promise<Answer> {
  const row = "items" in data ? data.items : data.properties.rows.items;
  const names = Object.keys(row.properties).filter((name) => row.required?.includes(name));
  const reduced = (rows: readonly Row[]) =>
    rows.map((full) => Object.fromEntries(names.map((name) => [name, full[name]])));
  return async (call) => {
    const answer = await handler(call);
    if (call.input.fields !== "required" || answer.kind !== "json") return answer;
    const given = answer.body.data as readonly Row[] | { rows: readonly Row[] };
    const fewer = "rows" in given ? { ...given, rows: reduced(given.rows) } : reduced(given);
    return jsonAnswer(fewer, answer.body.meta);
  };
}

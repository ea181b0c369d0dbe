import type { Queryable } from "../store/database.ts";
import { askForRun } from "../store/queries/sync-request.ts";
import type { RequestedBy } from "../store/queries/sync-request.ts";
import type { SyncKind } from "./connector.ts";

export type RunRequest = {
  shopKey: number;
  source: string;
  kind: SyncKind;
  requestedBy: RequestedBy;
};

/**
 * Asks for a run of a connection; a worker takes it up within about a second. Any process may ask, on a pool or inside
 * a transaction of its own. A burst collapses: beside the active run at most one of each kind waits, and what is asked
 * while a run is active gets another run after it. Returns the moment it was asked, null when there is no such
 * connection.
 */
export async function requestRun(database: Queryable, request: RunRequest): Promise<Date | null> {
  return askForRun(database, request.shopKey, request.source, request.kind, request.requestedBy);
}

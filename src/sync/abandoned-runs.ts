import type { Connection, Database } from "../store/database.ts";
import { postponeRequest } from "../store/queries/sync-request.ts";
import { finishRun, listOpenRuns } from "../store/queries/sync-run.ts";
import type { OpenRunRow } from "../store/queries/sync-run.ts";
import { isClaimFree } from "../store/run-claim.ts";

export type AbandonedRuns = {
  /** Closes the runs whose process has gone, and makes them due again; returns those. */
  look(): Promise<OpenRunRow[]>;
};

/**
 * Finds runs whose claim no process holds: theirs was killed, or lost its connection. The second check at least
 * `graceMs` after the first closes them, so that a process which only lost its connection has stopped by then; those
 * that this process itself is still stopping (`isOwn`) are left to it.
 */
export function watchAbandonedRuns(
  database: Database,
  options: { graceMs: number; isOwn: (shopKey: number, source: string) => boolean },
): AbandonedRuns {
  const { graceMs, isOwn } = options;
  let seenFreeAtMs = new Map<string, number>();
  return {
    look: async () => {
      const atMs = performance.now();
      const free = new Map<string, number>();
      const closed: OpenRunRow[] = [];
      for (const run of await listOpenRuns(database)) {
        if (isOwn(run.shop_key, run.source)) continue;
        const seenAtMs = seenFreeAtMs.get(run.run_id) ?? atMs;
        const isRipe = atMs - seenAtMs >= graceMs;
        const state = await database.transaction((connection) => settle(connection, run, isRipe));
        if (state === "free") free.set(run.run_id, seenAtMs);
        if (state === "closed") closed.push(run);
      }
      seenFreeAtMs = free;
      return closed;
    },
  };
}

/** The claim is this transaction's while it closes the run, so that no other process begins the next one meanwhile. */
async function settle(
  connection: Connection,
  run: OpenRunRow,
  isRipe: boolean,
): Promise<"held" | "free" | "closed"> {
  const { shop_key: shopKey, source, kind, run_id: runId } = run;
  if (!(await isClaimFree(connection, shopKey, source))) return "held";
  if (!isRipe) return "free";
  const error = "The process that ran it ended, or lost its connection to the database.";
  const isClosed = await finishRun(connection, shopKey, runId, {
    status: "interrupted",
    counts: {},
    notes: [],
    error,
  });
  if (isClosed) {
    await postponeRequest(connection, { shop_key: shopKey, source, kind }, { delayMs: 0, isFailure: false });
  }
  return isClosed ? "closed" : "held";
}

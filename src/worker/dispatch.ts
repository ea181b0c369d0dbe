import { listDueSources } from "../store/queries/sync-request.ts";
import type { AbandonedRuns } from "../sync/abandoned-runs.ts";
import type { Database } from "../store/database.ts";
import type { RunLog } from "../sync/runs.ts";

export type Dispatcher = {
  /** Resolves when the look under way has ended; there is none after it. */
  stop(): Promise<void>;
};

export type DispatchOptions = {
  database: Database;
  abandoned: AbandonedRuns;
  /** Puts the connection into the queue, unless it is there already. */
  enqueue: (place: { shopKey: number; source: string }) => Promise<void>;
  intervalMs: number;
  log: RunLog;
};

/**
 * Looks again and again for runs that were abandoned and for requests that are due, and queues them. While the database
 * does not answer it keeps trying, and says so once.
 */
export function startDispatcher(options: DispatchOptions): Dispatcher {
  const { database, abandoned, enqueue, intervalMs, log } = options;
  let isAway = false;
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    for (const run of await abandoned.look()) {
      log.warn({ run_id: run.run_id, source: run.source }, "run was abandoned; the next one continues it");
    }
    for (const { shop_key: shopKey, source } of await listDueSources(database)) {
      await enqueue({ shopKey, source });
    }
  };
  const turn = async (): Promise<void> => {
    try {
      await look();
      if (isAway) log.info({}, "the database answers again");
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, "the database does not answer; trying again");
      isAway = true;
    }
    if (!isStopping) timer = setTimeout(next, intervalMs);
  };
  let turning = turn();
  const next = (): void => {
    turning = turn();
  };
  return {
    stop: async () => {
      isStopping = true;
      clearTimeout(timer);
      await turning;
    },
  };
}

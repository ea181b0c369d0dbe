import { deliverDue } from "../push/deliver.ts";
import type { DeliveryEnvironment } from "../push/deliver.ts";
import { listDueEndpoints } from "../store/queries/alert-delivery.ts";
import type { WorkerSession } from "../store/worker-session.ts";
import type { RunLog } from "../sync/runs.ts";

/** What a worker pushes. */
export type Deliveries = {
  /** Begins what is due and what no other worker has claimed; it does not wait for receivers. */
  look(session: WorkerSession): Promise<void>;
  /** Ends after the messages under way. */
  stop(): Promise<void>;
};

/** Endpoints at a time: a receiver that is slow keeps its own place for its time limit, and no other's. */
const MOST_ENDPOINTS = 64;

export function createDeliveries(environment: DeliveryEnvironment & { log: RunLog }): Deliveries {
  const { database, now, log } = environment;
  const active = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const begin = async (session: WorkerSession, place: { shopKey: number; source: string }): Promise<void> => {
    const { shopKey, source } = place;
    const stop = AbortSignal.any([stopping.signal, session.lost]);
    try {
      await deliverDue(environment, { shopKey, endpointId: source.slice(CLAIM.length) }, stop);
    } catch (error) {
      log.warn({ shopKey, err: error }, "a delivery could not be recorded; it is repeated with the same id");
    }
    await session.release(place);
  };
  return {
    look: async (session) => {
      const free = MOST_ENDPOINTS - active.size;
      if (free === 0 || stopping.signal.aborted) return;
      // Those under way are among them.
      const due = (await listDueEndpoints(database, now(), 2 * MOST_ENDPOINTS))
        .map((row) => ({ shopKey: row.shop_key, source: CLAIM + row.endpoint_id }))
        .filter(({ source }) => !active.has(source));
      if (due.length === 0) return;
      for (const place of await session.claim(due, free)) {
        active.set(
          place.source,
          begin(session, place).finally(() => active.delete(place.source)),
        );
      }
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(active.values());
    },
  };
}

/** Under this name and its id a worker claims an endpoint, as it claims a source. */
const CLAIM = "alert endpoint ";

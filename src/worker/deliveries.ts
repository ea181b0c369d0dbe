import { deliverDue, type DeliveryEnvironment } from "../alerts/delivery/deliver.ts";
import { findNextDelivery } from "../store/queries/alert-delivery.ts";
import { finishPoll, leaveQueue, listQueuedPushes, postponePoll, PUSH } from "../store/queries/run-queue.ts";
import type { QueuedRow } from "../store/queries/run-queue.ts";
import type { WorkerSession } from "../store/worker-session.ts";
import type { RunLog } from "../sync/runs.ts";

/** Deliveries of a worker. */
export type Deliveries = {
  /** Begins due deliveries that no other worker has claimed; it does not wait for receivers. */
  poll(session: WorkerSession): Promise<void>;
  /** Ends after the messages under way. */
  stop(): Promise<void>;
};

type QueuedPush = Pick<QueuedRow, "shop_key" | "source" | "asked">;

/** Endpoints at a time: a slow receiver occupies only its own slot, until its time limit. */
const MOST_ENDPOINTS = 64;
/** Pause after reading an endpoint or recording its result failed: its workspace's node may be unavailable. */
const RETRY_MS = 15_000;

export function createDeliveries(environment: DeliveryEnvironment & { log: RunLog }): Deliveries {
  const { database, now, log } = environment;
  const active = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const begin = async (session: WorkerSession, queued: QueuedPush): Promise<void> => {
    const { shop_key: shopKey, source } = queued;
    const stop = AbortSignal.any([stopping.signal, session.lost]);
    try {
      await deliverQueued(environment, queued, stop);
    } catch (error) {
      log.warn(
        { shopKey, err: error },
        "a delivery could not be recorded; it will be repeated with the same id",
      );
      // Without an answer it stays due.
      await postponePoll(database, shopKey, source, RETRY_MS).catch(() => {});
    }
    await session.release({ shopKey, source });
  };
  return {
    poll: async (session) => {
      const free = MOST_ENDPOINTS - active.size;
      if (free === 0 || stopping.signal.aborted) return;
      // Includes those under way.
      const queued = await listQueuedPushes(database, now(), 2 * MOST_ENDPOINTS);
      const due = new Map(queued.map((push) => [push.source, push]));
      for (const source of active.keys()) due.delete(source);
      if (due.size === 0) return;
      const places = [...due.values()].map(({ shop_key: shopKey, source }) => ({ shopKey, source }));
      for (const { source } of await session.claim(places, free)) {
        const push = due.get(source) as QueuedPush;
        active.set(
          source,
          begin(session, push).finally(() => active.delete(source)),
        );
      }
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(active.values());
    },
  };
}

/** Makes an endpoint's due deliveries, and sets its next poll. Its own row is the source of truth, as with sources. */
export async function deliverQueued(
  environment: DeliveryEnvironment,
  queued: QueuedPush,
  stop: AbortSignal,
): Promise<void> {
  const { database } = environment;
  const place = { shopKey: queued.shop_key, endpointId: queued.source.slice(PUSH.length) };
  await deliverDue(environment, place, stop);
  const next = await findNextDelivery(database, place);
  if (next === null) await leaveQueue(database, queued);
  else await finishPoll(database, queued, next.due_at);
}

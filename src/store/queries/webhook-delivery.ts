import type { Queryable } from "../database.ts";
import { command, queryAny, requireValue } from "../query.ts";

/** A record that a delivery names, to be fetched again. */
export type NamedRecord = { kind: string; recordId: string };

/** A repeated body counts as a new delivery after a day. */
const REPLAY_MS = 24 * 3_600_000;

/** A delivery and the records it names. */
type WebhookDelivery = {
  shopKey: number;
  source: string;
  webhookId: string;
  topic: string;
  replayKey: string;
  records: readonly NamedRecord[];
};

/** Whether a delivery was accepted. Primary key. */
export const hasDelivery = requireValue<boolean, [shopKey: number, source: string, webhookId: string]>(
  "has_webhook_delivery",
  `select exists (select from webhook_delivery d
                         where d.shop_key = $1 and d.source = $2 and d.webhook_id = $3) as has_delivery`,
);

const takeDelivery = queryAny<[delivery: WebhookDelivery]>(
  "record_webhook_delivery",
  `insert into webhook_delivery as d (shop_key, source, webhook_id, topic, replay_key) values ($1, $2, $3, $4, $5)
         on conflict (shop_key, source, replay_key) do update
            set webhook_id = excluded.webhook_id, topic = excluded.topic, received_at = excluded.received_at
          where d.received_at < $6
         returning 1 as taken`,
  (delivery) => [
    delivery.shopKey,
    delivery.source,
    delivery.webhookId,
    delivery.topic,
    delivery.replayKey,
    new Date(Date.now() - REPLAY_MS),
  ],
);

/** In `values`: an insert of selected rows would pass through every node. Primary key. */
const addPendingRecord = command<[shopKey: number, source: string, kind: string, recordId: string]>(
  "add_pending_record",
  `insert into pending_record (shop_key, source, kind, record_id) values ($1, $2, $3, $4)
         on conflict (shop_key, source, kind, record_id) do update set requested_at = excluded.requested_at`,
);

/**
 * Accepts a delivery and requests the records it names; false = a duplicate, by its webhook id
 * or within a day by its replay key, and nothing changes. Call it in a transaction if it names records. Primary keys and
 * webhook_delivery_by_replay_key.
 */
export async function recordDelivery(database: Queryable, delivery: WebhookDelivery): Promise<boolean> {
  const { shopKey, source, webhookId, records } = delivery;
  if (await hasDelivery(database, shopKey, source, webhookId)) return false;
  if (!(await takeDelivery(database, delivery))) return false;
  for (const { kind, recordId } of records) await addPendingRecord(database, shopKey, source, kind, recordId);
  return true;
}

/** Deletes a failed delivery, so that it can be repeated. Primary key. */
export const forgetDelivery = command<[shopKey: number, source: string, webhookId: string]>(
  "forget_webhook_delivery",
  "delete from webhook_delivery d where d.shop_key = $1 and d.source = $2 and d.webhook_id = $3",
);

type RecordedDelivery = { webhookId: string; replayKey: string };

const replayedSince = (): Date => new Date(Date.now() - REPLAY_MS);

/** Whether a workspace's history has a delivery, by its webhook id or within a day by its replay key. audit_event_time. */
export const isRecorded = requireValue<
  boolean,
  [shopKey: number, action: string, delivery: RecordedDelivery]
>(
  "is_webhook_recorded",
  `select exists (select from audit_event a
                         where a.shop_key = $1 and a.action = $2
                           and (a.detail ->> 'webhook_id' = $3
                                or (a.detail ->> 'replay_key' = $4 and a.happened_at > $5))) as is_recorded`,
  (shopKey, action, { webhookId, replayKey }) => [shopKey, action, webhookId, replayKey, replayedSince()],
);

/** The same of a delivery that erased a workspace: the installation's history outlives it. identity_event_by_action. */
export const isErasureRecorded = requireValue<boolean, [action: string, delivery: RecordedDelivery]>(
  "is_erasure_recorded",
  `select exists (select from identity_event a
                         where a.action = $1
                           and (a.detail ->> 'webhook_id' = $2
                                or (a.detail ->> 'replay_key' = $3 and a.happened_at > $4))) as is_recorded`,
  (action, { webhookId, replayKey }) => [action, webhookId, replayKey, replayedSince()],
);

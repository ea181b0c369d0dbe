import type { Queryable } from "../database.ts";
import { command, requireValue } from "../query.ts";

/** A record that a delivery names, to be fetched again. */
export type NamedRecord = { kind: string; recordId: string };

/** A body that comes again after a day is a new delivery. */
const REPLAY_MS = 24 * 3_600_000;

/** A delivery and the records it names. */
export type WebhookDelivery = {
  shopKey: number;
  source: string;
  webhookId: string;
  topic: string;
  replayKey: string;
  records: readonly NamedRecord[];
};

/** Whether a delivery was taken in. Primary key. */
export const hasDelivery = requireValue<boolean, [shopKey: number, source: string, webhookId: string]>(
  "has_webhook_delivery",
  `select exists (select from webhook_delivery d
                         where d.shop_key = $1 and d.source = $2 and d.webhook_id = $3) as has_delivery`,
);

const takeDelivery = requireValue<boolean, [delivery: WebhookDelivery]>(
  "record_webhook_delivery",
  `with taken as (
           insert into webhook_delivery (shop_key, source, webhook_id, topic, replay_key) values ($1, $2, $3, $4, $7)
           on conflict (shop_key, source, replay_key) do update
              set webhook_id = excluded.webhook_id, topic = excluded.topic, received_at = excluded.received_at
            where webhook_delivery.received_at < $8
           returning shop_key
         ), pending as (
           insert into pending_record (shop_key, source, kind, record_id)
           select taken.shop_key, $2, named.kind, named.record_id
             from taken, unnest($5::text[], $6::text[]) named (kind, record_id)
           on conflict (shop_key, source, kind, record_id) do update set requested_at = excluded.requested_at
         )
         select count(*) = 1 as is_taken from taken`,
  (delivery) => [
    delivery.shopKey,
    delivery.source,
    delivery.webhookId,
    delivery.topic,
    delivery.records.map(({ kind }) => kind),
    delivery.records.map(({ recordId }) => recordId),
    delivery.replayKey,
    new Date(Date.now() - REPLAY_MS),
  ],
);

/**
 * Takes a delivery in, and asks for the records it names to be fetched again; false = it came before, by its webhook id
 * or within a day by its replay key, and nothing changes. Primary keys and webhook_delivery_by_replay_key.
 */
export async function recordDelivery(database: Queryable, delivery: WebhookDelivery): Promise<boolean> {
  const { shopKey, source, webhookId } = delivery;
  return !(await hasDelivery(database, shopKey, source, webhookId)) && takeDelivery(database, delivery);
}

/** Lets a delivery that came to nothing come again. Primary key. */
export const forgetDelivery = command<[shopKey: number, source: string, webhookId: string]>(
  "forget_webhook_delivery",
  "delete from webhook_delivery d where d.shop_key = $1 and d.source = $2 and d.webhook_id = $3",
);

/**
 * Whether the history has a delivery, by its webhook id or within a day by its replay key: it outlives the
 * workspace that the delivery erased. audit_event_time.
 */
export const isRecorded = requireValue<
  boolean,
  [shopKey: number, action: string, input: { webhookId: string; replayKey: string }]
>(
  "is_webhook_recorded",
  `select exists (select from audit_event a
                         where a.shop_key = $1 and a.action = $2
                           and (a.detail ->> 'webhook_id' = $3
                                or (a.detail ->> 'replay_key' = $4 and a.happened_at > $5))) as is_recorded`,
  (shopKey, action, { webhookId, replayKey }) => [
    shopKey,
    action,
    webhookId,
    replayKey,
    new Date(Date.now() - REPLAY_MS),
  ],
);

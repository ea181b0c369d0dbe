import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

/** A record that a delivery names, to be fetched again. */
export type NamedRecord = { kind: string; recordId: string };

const RECORD_DELIVERY = defineStatement({
  name: "record_webhook_delivery",
  text: `with taken as (
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
         select count(*)::integer as taken from taken`,
});

/** A body that comes again after a day is a new delivery. */
const REPLAY_MS = 24 * 3_600_000;

/**
 * Takes a delivery in, and asks for the records it names to be fetched again; false = it came before, by its webhook id
 * or within a day by its replay key, and nothing changes. Primary keys and webhook_delivery_by_replay_key.
 */
export async function recordDelivery(
  database: Queryable,
  delivery: {
    shopKey: number;
    source: string;
    webhookId: string;
    topic: string;
    replayKey: string;
    records: readonly NamedRecord[];
  },
): Promise<boolean> {
  if (await hasDelivery(database, delivery.shopKey, delivery.source, delivery.webhookId)) return false;
  const [row] = await database.rows<{ taken: number }>(RECORD_DELIVERY, [
    delivery.shopKey,
    delivery.source,
    delivery.webhookId,
    delivery.topic,
    delivery.records.map(({ kind }) => kind),
    delivery.records.map(({ recordId }) => recordId),
    delivery.replayKey,
    new Date(Date.now() - REPLAY_MS),
  ]);
  return row?.taken === 1;
}

const HAS_DELIVERY = defineStatement({
  name: "has_webhook_delivery",
  text: `select exists (select from webhook_delivery d
                         where d.shop_key = $1 and d.source = $2 and d.webhook_id = $3) as has_delivery`,
});

/** Whether a delivery was taken in. Primary key. */
export async function hasDelivery(
  database: Queryable,
  shopKey: number,
  source: string,
  webhookId: string,
): Promise<boolean> {
  const [row] = await database.rows<{ has_delivery: boolean }>(HAS_DELIVERY, [shopKey, source, webhookId]);
  return row?.has_delivery === true;
}

const FORGET_DELIVERY = defineStatement({
  name: "forget_webhook_delivery",
  text: "delete from webhook_delivery d where d.shop_key = $1 and d.source = $2 and d.webhook_id = $3",
});

/** Lets a delivery that came to nothing come again. Primary key. */
export async function forgetDelivery(
  database: Queryable,
  shopKey: number,
  source: string,
  webhookId: string,
): Promise<void> {
  await database.rows(FORGET_DELIVERY, [shopKey, source, webhookId]);
}

const IS_RECORDED = defineStatement({
  name: "is_webhook_recorded",
  text: `select exists (select from audit_event a
                         where a.shop_key = $1 and a.action = $2
                           and (a.detail ->> 'webhook_id' = $3
                                or (a.detail ->> 'replay_key' = $4 and a.happened_at > $5))) as is_recorded`,
});

/**
 * Whether the history has a delivery, by its webhook id or within a day by its replay key: it outlives the
 * workspace that the delivery erased. audit_event_time.
 */
export async function isRecorded(
  database: Queryable,
  shopKey: number,
  action: string,
  { webhookId, replayKey }: { webhookId: string; replayKey: string },
): Promise<boolean> {
  const [row] = await database.rows<{ is_recorded: boolean }>(IS_RECORDED, [
    shopKey,
    action,
    webhookId,
    replayKey,
    new Date(Date.now() - REPLAY_MS),
  ]);
  return row?.is_recorded === true;
}

/** A workspace that belongs to an account at a source. */
export type AccountRow = {
  shop_key: number;
  shop_domain: string;
  /** null = the workspace has the account's domain, but was never connected. */
  settings: Record<string, unknown> | null;
  sealed_credentials: Buffer | null;
  status: string | null;
};

const LIST_ACCOUNT_WORKSPACES = defineStatement({
  name: "list_account_workspaces",
  text: `select w.shop_key, w.shop_domain, s.settings, s.sealed_credentials, s.status
           from workspace w
           left join data_source s on s.shop_key = w.shop_key and s.source = $1 and s.is_connection
          where w.shop_key in (
                  select c.shop_key from data_source c
                   where c.source = $1 and c.is_connection and c.settings ->> 'shop' = $2
                  union all
                  select d.shop_key from shop_directory d where d.shop_domain = $2)
            and coalesce(s.settings ->> 'shop', $2) = $2
          order by s.sealed_credentials is null, s.settings is null, w.shop_key`,
});

/**
 * The workspaces that are, or were, connected to an account of a source such as demo.myshopify.com, the connected one
 * first; also the one whose own domain it is. Index data_source_by_shop, over all workspaces.
 */
export async function listAccountWorkspaces(
  database: Queryable,
  source: string,
  account: string,
): Promise<AccountRow[]> {
  return database.rows(LIST_ACCOUNT_WORKSPACES, [source, account]);
}

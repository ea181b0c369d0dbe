import { defineStatement } from "../database.ts";
import type { Connection, Queryable } from "../database.ts";

export type SourceKind = "store" | "label_cost";

/** One connection of a workspace to a source that the worker reads. */
export type ConnectionRow = {
  shop_key: number;
  source: string;
  kind: SourceKind;
  status: "ok" | "syncing" | "failed" | "disconnected" | null;
  currency_code: string | null;
  last_synced_at: Date | null;
  last_error: string | null;
  created_at: Date;
  settings: Record<string, unknown>;
  cursor: unknown;
  sealed_credentials: Buffer | null;
  /** Of its workspace. */
  shop_domain: string;
  shop_currency_code: string;
  readiness: string;
};

const COLUMNS = `s.shop_key, s.source, s.kind, s.status, s.currency_code, s.last_synced_at, s.last_error, s.created_at,
                s.settings, s.cursor, s.sealed_credentials, w.shop_domain,
                w.currency_code as shop_currency_code, w.readiness`;

const FIND_CONNECTION = defineStatement({
  name: "find_connection",
  text: `select ${COLUMNS}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
});

/** One connection, by primary key; null when the workspace has none to that source. */
export async function findConnection(
  database: Queryable,
  shopKey: number,
  source: string,
): Promise<ConnectionRow | null> {
  const [row] = await database.rows<ConnectionRow>(FIND_CONNECTION, [shopKey, source]);
  return row ?? null;
}

const LOCK_CONNECTION = defineStatement({
  name: "lock_connection",
  text: `select ${COLUMNS}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.shop_key = $1 and s.source = $2 and s.is_connection
            for update of s`,
});

/** The same, its row locked to the end of the transaction: it cannot be connected or disconnected meanwhile. */
export async function lockConnection(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<ConnectionRow | null> {
  const [row] = await connection.rows<ConnectionRow>(LOCK_CONNECTION, [shopKey, source]);
  return row ?? null;
}

const LIST_CONNECTIONS = defineStatement({
  name: "list_connections",
  text: `select ${COLUMNS}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.is_connection
          order by s.shop_key, s.source`,
});

/** Every connection of the installation, for the worker's schedule and the operator: a scan of all workspaces. */
export async function listConnections(database: Queryable): Promise<ConnectionRow[]> {
  return database.rows(LIST_CONNECTIONS, []);
}

const FIND_CONNECTED_STORE = defineStatement({
  name: "find_connected_store",
  text: `select s.source from data_source s
          where s.shop_key = $1 and s.kind = 'store' and s.is_connection and s.sealed_credentials is not null`,
});

/** The store that a workspace gets its orders from; null when none is connected. Primary key. */
export async function findConnectedStore(database: Queryable, shopKey: number): Promise<string | null> {
  const [row] = await database.rows<{ source: string }>(FIND_CONNECTED_STORE, [shopKey]);
  return row?.source ?? null;
}

const PUT_CONNECTION = defineStatement({
  name: "put_connection",
  text: `insert into data_source as s (shop_key, source, kind, is_connection, settings, sealed_credentials)
         values ($1, $2, $3, true, $4, $5)
         on conflict (shop_key, source) do update
            set kind = excluded.kind, is_connection = true, settings = excluded.settings,
                sealed_credentials = excluded.sealed_credentials, last_error = null,
                status = case when s.status = 'disconnected' then null else s.status end`,
});

/** Connects a source, or reconnects it: cursor, currency and last sync stay. */
export async function putConnection(
  database: Queryable,
  connection: {
    shopKey: number;
    source: string;
    kind: SourceKind;
    settings: Record<string, unknown>;
    sealedCredentials: Buffer;
  },
): Promise<void> {
  await database.rows(PUT_CONNECTION, [
    connection.shopKey,
    connection.source,
    connection.kind,
    JSON.stringify(connection.settings),
    connection.sealedCredentials,
  ]);
}

const LOCK_CREDENTIALS = defineStatement({
  name: "lock_credentials",
  text: `select s.sealed_credentials from data_source s
          where s.shop_key = $1 and s.source = $2 and s.is_connection for update`,
});

/** The credentials as they are now, the row locked to the end of the transaction; null when there are none. */
export async function lockCredentials(
  connection: Connection,
  shopKey: number,
  source: string,
): Promise<Buffer | null> {
  const [row] = await connection.rows<{ sealed_credentials: Buffer | null }>(LOCK_CREDENTIALS, [
    shopKey,
    source,
  ]);
  return row?.sealed_credentials ?? null;
}

const SET_CREDENTIALS = defineStatement({
  name: "set_credentials",
  text: `update data_source s set sealed_credentials = $3
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
});

/** Replaces (null: deletes) the credentials of a connection. */
export async function setCredentials(
  database: Queryable,
  shopKey: number,
  source: string,
  sealedCredentials: Buffer | null,
): Promise<void> {
  await database.rows(SET_CREDENTIALS, [shopKey, source, sealedCredentials]);
}

const SET_CURSOR = defineStatement({
  name: "set_cursor",
  text: "update data_source s set cursor = $3 where s.shop_key = $1 and s.source = $2",
});

/** The connector's new cursor, in its own format. */
export async function setCursor(
  database: Queryable,
  shopKey: number,
  source: string,
  cursor: unknown,
): Promise<void> {
  await database.rows(SET_CURSOR, [shopKey, source, JSON.stringify(cursor)]);
}

const SET_SOURCE_STATUS = defineStatement({
  name: "set_source_status",
  text: `update data_source s set status = $3, last_error = $4
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
});

/** `lastError` is a sentence for people, null = none. The last successful sync stays as it is. */
export async function setSourceStatus(
  database: Queryable,
  shopKey: number,
  source: string,
  status: "syncing" | "failed" | "disconnected",
  lastError: string | null,
): Promise<void> {
  await database.rows(SET_SOURCE_STATUS, [shopKey, source, status, lastError]);
}

const SET_READINESS = defineStatement({
  name: "set_readiness",
  text: "update workspace set readiness = $3 where shop_key = $1 and readiness = any($2)",
});

/** Moves a workspace from one of the states in `from` to another; elsewhere it stays. */
export async function setReadiness(
  database: Queryable,
  shopKey: number,
  from: readonly string[],
  to: string,
): Promise<void> {
  await database.rows(SET_READINESS, [shopKey, from, to]);
}

const SET_BILLING = defineStatement({
  name: "set_billing",
  text: "update workspace set billing_status = $2 where shop_key = $1",
});

export async function setBilling(
  database: Queryable,
  shopKey: number,
  billingStatus: "active" | "inactive",
): Promise<void> {
  await database.rows(SET_BILLING, [shopKey, billingStatus]);
}

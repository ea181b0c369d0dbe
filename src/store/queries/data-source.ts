import type { Connection, Queryable } from "../database.ts";
import { command, query, queryRow, queryValue } from "../query.ts";
import { queueConnection } from "./run-queue.ts";
import { putAccount } from "./shop-account.ts";

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
  /** Its workspace is going to be erased: no run begins. */
  is_erasing: boolean;
};

const COLUMNS = `s.shop_key, s.source, s.kind, s.status, s.currency_code, s.last_synced_at, s.last_error, s.created_at,
                s.settings, s.cursor, s.sealed_credentials, w.shop_domain,
                w.currency_code as shop_currency_code, w.readiness,
                w.erase_after is not null as is_erasing`;

/** One connection, by primary key; null when the workspace has none to that source. */
export const findConnection = queryRow<ConnectionRow, [shopKey: number, source: string]>(
  "find_connection",
  `select ${COLUMNS}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
);

/** The same, its row locked to the end of the transaction: it cannot be connected or disconnected meanwhile. */
export const lockConnection = queryRow<ConnectionRow, [shopKey: number, source: string], Connection>(
  "lock_connection",
  `select ${COLUMNS}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.shop_key = $1 and s.source = $2 and s.is_connection
            for update of s`,
);

/** Every connection of the installation, for the operator: a scan of all workspaces. */
export const listConnections = query<ConnectionRow>(
  "list_connections",
  `select ${COLUMNS}
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.is_connection
          order by s.shop_key, s.source`,
);

/** The store that a workspace gets its orders from; null when none is connected. Primary key. */
export const findConnectedStore = queryValue<string, [shopKey: number]>(
  "find_connected_store",
  `select s.source from data_source s
          where s.shop_key = $1 and s.kind = 'store' and s.is_connection and s.sealed_credentials is not null`,
);

/** The connections of one workspace. Primary key. */
export const listShopConnections = query<
  { source: string; kind: SourceKind; account: string | null },
  [shopKey: number]
>(
  "list_shop_connections",
  `select s.source, s.kind, s.settings ->> 'shop' as account from data_source s
          where s.shop_key = $1 and s.is_connection order by s.source`,
);

/** `settings.shop` is the account at the source, where it has a name. */
export type NewConnection = {
  shopKey: number;
  source: string;
  kind: SourceKind;
  settings: Record<string, unknown>;
  sealedCredentials: Buffer;
};

const storeConnection = command<[connection: NewConnection]>(
  "put_connection",
  `insert into data_source as s (shop_key, source, kind, is_connection, settings, sealed_credentials)
         values ($1, $2, $3, true, $4, $5)
         on conflict (shop_key, source) do update
            set kind = excluded.kind, is_connection = true, settings = excluded.settings,
                sealed_credentials = excluded.sealed_credentials, last_error = null,
                status = case when s.status = 'disconnected' then null else s.status end`,
  (connection) => [
    connection.shopKey,
    connection.source,
    connection.kind,
    JSON.stringify(connection.settings),
    connection.sealedCredentials,
  ],
);

/** Connects a source, or reconnects it: cursor, currency and last sync stay. The directory and the queue have it, too. */
export async function putConnection(database: Queryable, connection: NewConnection): Promise<void> {
  await storeConnection(database, connection);
  const { shopKey, source, kind, settings } = connection;
  const { shop: account } = settings;
  await registerConnection(database, shopKey, {
    source,
    kind,
    account: typeof account === "string" ? account : null,
  });
}

/** Has the directory and the queue know a connection; nothing changes when they do. */
export async function registerConnection(
  database: Queryable,
  shopKey: number,
  { source, kind, account }: { source: string; kind: SourceKind; account: string | null },
): Promise<void> {
  if (account !== null) await putAccount(database, shopKey, source, account);
  await queueConnection(database, shopKey, source, kind);
}

/** Replaces (null: deletes) the credentials of a connection. */
export const setCredentials = command<[shopKey: number, source: string, sealedCredentials: Buffer | null]>(
  "set_credentials",
  `update data_source s set sealed_credentials = $3
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
);

/** The connector's new cursor, in its own format. */
export const setCursor = command<[shopKey: number, source: string, cursor: unknown]>(
  "set_cursor",
  "update data_source s set cursor = $3 where s.shop_key = $1 and s.source = $2",
  (shopKey, source, cursor) => [shopKey, source, JSON.stringify(cursor)],
);

/** `lastError` is a sentence for people, null = none. The last successful sync stays as it is. */
export const setSourceStatus = command<
  [shopKey: number, source: string, status: "syncing" | "failed" | "disconnected", lastError: string | null]
>(
  "set_source_status",
  `update data_source s set status = $3, last_error = $4
          where s.shop_key = $1 and s.source = $2 and s.is_connection`,
);

/** Moves a workspace from one of the states in `from` to another; elsewhere it stays. */
export const setReadiness = command<[shopKey: number, from: readonly string[], to: string]>(
  "set_readiness",
  "update workspace set readiness = $3 where shop_key = $1 and readiness = any($2)",
);

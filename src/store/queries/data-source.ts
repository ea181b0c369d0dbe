import type { Connection, Queryable } from "../database.ts";
import { command, query, queryColumn, queryRow, queryValue } from "../query.ts";
import { queueConnection } from "./run-queue.ts";
import { IS_STOPPED } from "./workspace-directory.ts";

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
  /** Its workspace is going to be erased, or moves: no run begins. */
  is_stopped: boolean;
};

/** Of the row `s`: it has credentials, which were not refused. */
export const IS_CONNECTED = "(s.sealed_credentials is not null and s.status is distinct from 'disconnected')";

/** Of the row `s`: it is not one that a person has disconnected, which leaves no error. */
export const IS_WANTED = "(s.status is distinct from 'disconnected' or s.last_error is not null)";

/** Of the row `s`: when it was connected, the last time. */
export const CONNECTED_AT = "coalesce((s.settings ->> 'connectedAt')::timestamptz, s.created_at)";

export const COLUMNS = `s.shop_key, s.source, s.kind, s.status, s.currency_code, s.last_synced_at, s.last_error, s.created_at,
                s.settings, s.cursor, s.sealed_credentials, w.shop_domain,
                w.currency_code as shop_currency_code, w.readiness,
                ${IS_STOPPED} as is_stopped`;

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

/** The store that a workspace gets its orders from; null when none is connected. Primary key. */
export const findConnectedStore = queryValue<string, [shopKey: number]>(
  "find_connected_store",
  `select s.source from data_source s
          where s.shop_key = $1 and s.kind = 'store' and s.is_connection and s.sealed_credentials is not null`,
);

/** A connection in directory and queue. */
type RegisteredRow = {
  source: string;
  kind: SourceKind;
  account: string | null;
  /** When its scheduled poll is or was due; null = only on request. */
  poll_at: Date | null;
};

/** The connections of one workspace. Primary key. */
export const listWorkspaceConnections = query<RegisteredRow, [shopKey: number]>(
  "list_workspace_connections",
  `select s.source, s.kind, s.settings ->> 'shop' as account,
                case when ${IS_CONNECTED} then coalesce(s.poll_at, statement_timestamp()) end as poll_at
           from data_source s
          where s.shop_key = $1 and s.is_connection order by s.source`,
);

/** Registers a connection in the directory and the queue; idempotent. */
export async function registerConnection(
  database: Queryable,
  shopKey: number,
  { source, kind, account, poll_at: pollAt }: RegisteredRow,
): Promise<void> {
  if (account !== null) await putAccount(database, shopKey, source, account);
  await queueConnection(database, shopKey, source, kind, pollAt);
}

/** When the next scheduled polls of a connection are due; null = unchanged. Primary key. */
export const setNextPolls = command<
  [shopKey: number, source: string, next: { pollAt: Date | null; rereadAt: Date | null }]
>(
  "set_next_polls",
  `update data_source s set poll_at = coalesce($3, s.poll_at), reread_at = coalesce($4, s.reread_at)
          where s.shop_key = $1 and s.source = $2`,
  (shopKey, source, { pollAt, rereadAt }) => [shopKey, source, pollAt, rereadAt],
);

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

/** Notes which account of a source a workspace is connected to. Primary key. */
export const putAccount = command<[shopKey: number, source: string, account: string]>(
  "put_shop_account",
  `insert into shop_account as a (shop_key, source, account) values ($1, $2, $3)
         on conflict (shop_key, source) do update set account = excluded.account where a.account <> excluded.account`,
);

/** Until the transaction ends: of two workspaces that connect one account at the same moment, or two stores of one, the second sees the first. */
export const lockAccount = command<[source: string, account: string], Connection>(
  "lock_account",
  "select pg_advisory_xact_lock(hashtextextended('account ' || $1::text || ' ' || $2::text, 0))",
);

/** Removes the accounts of a workspace. Primary key. */
export const deleteAccounts = command<[shopKey: number]>(
  "delete_shop_accounts",
  "delete from shop_account a where a.shop_key = $1",
);

/** Workspaces of an account of a source, and the one whose own domain it is. shop_account_by_account, and the directory's key. */
export const listAccountWorkspaceKeys = queryColumn<number, [source: string, account: string]>(
  "list_account_workspaces",
  `select a.shop_key from shop_account a where a.source = $1 and a.account = $2
         union
         select d.shop_key from shop_directory d where d.shop_domain = $2
          order by shop_key`,
);

/** A workspace that belongs to an account at a source. */
export type AccountRow = {
  shop_key: number;
  shop_domain: string;
  /** null = the workspace has the account's domain, but was never connected. */
  settings: Record<string, unknown> | null;
  sealed_credentials: Buffer | null;
  status: string | null;
};

/** A workspace that the directory found, by its own rows; null = they are of another account, or gone. Primary keys. */
export const findAccountWorkspace = queryRow<AccountRow, [shopKey: number, source: string, account: string]>(
  "find_account_workspace",
  `select w.shop_key, w.shop_domain, s.settings, s.sealed_credentials, s.status
           from workspace w
           left join data_source s on s.shop_key = $1 and s.source = $2 and s.is_connection
          where w.shop_key = $1 and coalesce(s.settings ->> 'shop', $3) = $3 and w.moving_to is null`,
);

/** A page of the keys of all workspaces, in their order. The directory's unique index. */
export const listDirectory = queryColumn<number, [after: number, most: number]>(
  "list_directory",
  `select d.shop_key from shop_directory d
          where d.shop_key > $1 order by d.shop_key limit $2`,
);

/** `settings.shop` is the account at the source, where it has a name. */
type NewConnection = {
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
    poll_at: null,
  });
}

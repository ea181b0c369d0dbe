import { findNodePlace, isOnNode, listShardTables, type ShardTableRow } from "./queries/distribute.ts";
import type { DatabasePool, Queryable, Statement } from "./database.ts";
import { READABLE, selectOwnRows } from "./workspace-views.ts";

type Pool = Pick<DatabasePool, "rows" | "snapshot">;

/** Connections straight to the nodes of a Citus cluster, for statements that one node answers whole. */
export type NodeDatabases = {
  /**
   * The node's own connections; the coordinator's until the node has answered, and for a while after it failed. With `shard`,
   * one of `daily_usage`, the node's snapshots read the tables of that shard.
   */
  of(this: void, node: number, shard?: number): Pool;
  close(): Promise<void>;
};

type NodeDatabasesOptions = {
  /** The service's default connection: it forwards statements for other nodes. */
  coordinator: Pool;
  /** The address of the coordinator; the nodes have its user, password and database. */
  url: string;
  open: (url: string) => DatabasePool;
  /** 60000 by default. */
  retryMs?: number;
};

/** Makes a statement read the tables of one shard. */
type OnShard = (statement: Statement) => Statement;
type Shards = Map<number, Promise<OnShard>>;
type Node = {
  database: DatabasePool | null;
  url: string;
  shards: Shards;
  isTrying: boolean;
  triedMs: number;
};

const RETRY_MS = 60_000;
const UNDEFINED_TABLE = "42P01";

/**
 * Opens connections to a node at its first request, which the coordinator serves meanwhile. A node that does not answer is left
 * to the coordinator, and tried again after `retryMs` at the address that the cluster's catalogue names then. As often it checks
 * that address in the catalogue: a removed node has a catalogue of its own, which is no longer updated.
 */
export function openNodeDatabases(options: NodeDatabasesOptions): NodeDatabases {
  const { coordinator, retryMs = RETRY_MS } = options;
  const nodes = new Map<number, Node>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;
  const close = (database: DatabasePool): void => {
    const closed = database.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const leave = (node: Node, database: DatabasePool): void => {
    if (node.database !== database) return;
    node.database = null;
    node.triedMs = performance.now();
    close(database);
  };
  const tryOut = async (key: number, node: Node): Promise<void> => {
    const opened = await openNode(options, key).catch(() => null);
    if (opened !== null && isClosed) close(opened.database);
    else Object.assign(node, opened);
  };
  const checkPlace = async (key: number, node: Node, database: DatabasePool): Promise<void> => {
    const isThere = await findUrl(options, key).then(
      (url) => url === node.url,
      () => true,
    );
    if (!isThere) leave(node, database);
  };
  const tryOrCheck = async (key: number, node: Node): Promise<void> => {
    node.isTrying = true;
    await (node.database === null ? tryOut(key, node) : checkPlace(key, node, node.database));
    node.isTrying = false;
    node.triedMs = performance.now();
  };
  const nodeOf = (key: number): Node => {
    const node = nodes.getOrInsertComputed(key, createNode);
    if (!node.isTrying && performance.now() - node.triedMs >= retryMs) void tryOrCheck(key, node);
    return node;
  };
  return {
    of: (key, shardId) => {
      const node = nodeOf(key);
      const { database } = node;
      if (database === null) return coordinator;
      const leaving = (error: unknown): never => {
        // A shard that was split or distributed again has other tables.
        const isMissing = (error as { code?: unknown }).code === UNDEFINED_TABLE;
        if (!isMissing || shardId === undefined) leave(node, database);
        else node.shards.delete(shardId);
        throw error;
      };
      return {
        rows: <Row>(...asked: Parameters<Queryable["rows"]>) => database.rows<Row>(...asked).catch(leaving),
        snapshot: async (shopKey, work) => {
          const onShard =
            shardId === undefined
              ? (statement: Statement) => statement
              : await findShard(node.shards, database, { key, shardId }).catch(leaving);
          let hasBegun = false;
          const watched = (connection: Queryable) => {
            hasBegun = true;
            return work({
              rows: <Row>(statement: Statement, values: readonly unknown[]) =>
                connection.rows<Row>(onShard(statement), values).catch(leaving),
            });
          };
          // An error thrown by the work itself does not concern the node.
          return database.snapshot(shopKey, watched).catch((error: unknown) => {
            if (!hasBegun) leave(node, database);
            throw error;
          });
        },
      };
    },
    close: async () => {
      isClosed = true;
      for (const { database } of nodes.values()) if (database !== null) close(database);
      await Promise.all(closing);
    },
  };
}

function createNode(): Node {
  return { database: null, url: "", shards: new Map(), isTrying: false, triedMs: -Infinity };
}

/** Throws unless the address in the catalogue leads to that node. */
async function openNode(
  options: NodeDatabasesOptions,
  key: number,
): Promise<Pick<Node, "url" | "shards"> & { database: DatabasePool }> {
  const url = await findUrl(options, key);
  if (url === null) throw new Error(`the catalogue does not name node ${key}`);
  const database = options.open(url);
  try {
    if (await isOnNode(database, key)) return { database, url, shards: new Map() };
    throw new Error(`${new URL(url).host} is not the database of node ${key}`);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Where the catalogue says that a node is; null = it names none. */
async function findUrl({ coordinator, url }: NodeDatabasesOptions, key: number): Promise<string | null> {
  const place = await findNodePlace(coordinator, key);
  return place === null ? null : urlOfNode(url, place.host, place.port);
}

function urlOfNode(url: string, host: string, port: number): string {
  const place = new URL(url);
  place.searchParams.delete("host");
  place.searchParams.delete("port");
  place.host = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return place.href;
}

type ShardPlace = { key: number; shardId: number };

function findShard(shards: Shards, database: Queryable, place: ShardPlace): Promise<OnShard> {
  return shards.getOrInsertComputed(place.shardId, async (id) =>
    readShard(place, await listShardTables(database, id)),
  );
}

/**
 * PostgreSQL plans a statement on a shard once per connection; Citus would plan it twice for each answer. The tables' names mean
 * what the views of one workspace show (decision 0047), of this shard.
 */
function readShard({ key, shardId }: ShardPlace, tables: readonly ShardTableRow[]): OnShard {
  // While its rows are being copied to this node, or no longer follow changes, the shard has no workspace.
  const isHere = ` and exists (select from pg_dist_placement where shardid = ${shardId} and groupid = ${key})`;
  const viewOf = ({
    table_name: name,
    shard_table: table,
    is_reference: isReference,
  }: ShardTableRow): string => {
    const rows = isReference ? `select * from ${table}` : selectOwnRows(READABLE.get(name) ?? ["*"], table);
    return `${name} as not materialized (${rows}${name === "workspace" ? isHere : ""})`;
  };
  const onShard = (statement: Statement): Statement => {
    const { name, text } = statement;
    const words = new Set(text.match(/\w+/gu));
    const views = tables.filter(({ table_name: table }) => words.has(table)).map(viewOf);
    if (views.length === 0) return statement;
    const [own = "", recursive = ""] = /^with (recursive )?/u.exec(text) ?? [];
    const first = `with ${recursive}${views.join(", ")}${own === "" ? "" : ","} `;
    return { name: `${name} ${shardId}`, text: first + text.slice(own.length) };
  };
  const known = new Map<Statement, Statement>();
  return (statement) => known.getOrInsertComputed(statement, onShard);
}

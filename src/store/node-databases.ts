import { findNodePlace, isOnNode } from "./queries/distribute.ts";
import type { DatabasePool, Queryable } from "./database.ts";

type Pool = Pick<DatabasePool, "rows" | "snapshot">;

/** Connections straight to the nodes of a Citus cluster, for statements that one node answers whole. */
export type NodeDatabases = {
  /** The node's own connections; the coordinator's until the node has answered, and for a while after it failed. */
  of(this: void, node: number): Pool;
  close(): Promise<void>;
};

type NodeDatabasesOptions = {
  /** Where the service connects: it passes on what is for another node. */
  coordinator: Pool;
  /** The address of the coordinator; the nodes have its user, password and database. */
  url: string;
  open: (url: string) => DatabasePool;
  /** Whether connections to a node do what they are for; all that lead to it by default. */
  isFit?: (database: Queryable) => Promise<boolean>;
  /** 60000 by default. */
  retryMs?: number;
};

type Node = { database: DatabasePool | null; isTrying: boolean; triedMs: number };

const RETRY_MS = 60_000;

/**
 * Opens connections to a node when it is first asked for. No request waits for that: the coordinator serves it until the node
 * has answered. A node that fails, or that servers cannot reach, is left to the coordinator and tried again after `retryMs`,
 * at the address that the cluster's catalogue names then.
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
    node.isTrying = true;
    const database = await openNode(options, key).catch(() => null);
    node.isTrying = false;
    node.triedMs = performance.now();
    if (database !== null && isClosed) close(database);
    else node.database = database;
  };
  const nodeOf = (key: number): Node => {
    const node = nodes.get(key) ?? { database: null, isTrying: false, triedMs: -Infinity };
    nodes.set(key, node);
    const isDue = !node.isTrying && performance.now() - node.triedMs >= retryMs;
    if (node.database === null && isDue) void tryOut(key, node);
    return node;
  };
  return {
    of: (key) => {
      const node = nodeOf(key);
      const { database } = node;
      if (database === null) return coordinator;
      const leaving = (error: unknown): never => {
        leave(node, database);
        throw error;
      };
      return {
        rows: <Row>(...asked: Parameters<Queryable["rows"]>) => database.rows<Row>(...asked).catch(leaving),
        snapshot: async (shopKey, work) => {
          let hasBegun = false;
          const watched = (connection: Queryable) => {
            hasBegun = true;
            return work({
              rows: <Row>(...asked: Parameters<Queryable["rows"]>) =>
                connection.rows<Row>(...asked).catch(leaving),
            });
          };
          // What the work itself throws says nothing of the node.
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

/** Throws unless the address that the catalogue names leads to that node. */
async function openNode(options: NodeDatabasesOptions, key: number): Promise<DatabasePool> {
  const { coordinator, url, open, isFit } = options;
  const { host, port } = await findNodePlace(coordinator, key);
  const database = open(urlOfNode(url, host, port));
  try {
    if ((await isOnNode(database, key)) && (await (isFit?.(database) ?? true))) return database;
    throw new Error(
      `${host}:${port} is another database than that of node ${key}, or nobody may read there yet`,
    );
  } catch (error) {
    await database.close();
    throw error;
  }
}

function urlOfNode(url: string, host: string, port: number): string {
  const place = new URL(url);
  place.searchParams.delete("host");
  place.searchParams.delete("port");
  place.host = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return place.href;
}

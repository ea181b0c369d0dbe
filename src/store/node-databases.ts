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
  /** The service's default connection: it forwards statements for other nodes. */
  coordinator: Pool;
  /** The address of the coordinator; the nodes have its user, password and database. */
  url: string;
  open: (url: string) => DatabasePool;
  /** Whether connections to a node are usable; by default all of them. */
  isFit?: (database: Queryable) => Promise<boolean>;
  /** 60000 by default. */
  retryMs?: number;
};

type Node = { database: DatabasePool | null; url: string; isTrying: boolean; triedMs: number };

const RETRY_MS = 60_000;

/**
 * Opens connections to a node when it is first asked for. No request waits for that: the coordinator serves it until the node
 * has answered. A node that fails, or that servers cannot reach, is left to the coordinator and tried again after `retryMs`,
 * at the address that the cluster's catalogue names then. As often the catalogue is asked whether it still names that address:
 * a node that was removed has a catalogue of its own that nobody keeps up to date.
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
    const node = nodes.get(key) ?? { database: null, url: "", isTrying: false, triedMs: -Infinity };
    nodes.set(key, node);
    if (!node.isTrying && performance.now() - node.triedMs >= retryMs) void tryOrCheck(key, node);
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

/** Throws unless the address in the catalogue leads to that node. */
async function openNode(
  options: NodeDatabasesOptions,
  key: number,
): Promise<{ database: DatabasePool; url: string }> {
  const { open, isFit } = options;
  const url = await findUrl(options, key);
  if (url === null) throw new Error(`the catalogue does not name node ${key}`);
  const database = open(url);
  try {
    if ((await isOnNode(database, key)) && (await (isFit?.(database) ?? true))) return { database, url };
    throw new Error(`${new URL(url).host} is not the database of node ${key}, or does not yet allow reading`);
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

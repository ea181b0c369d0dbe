import pg from "pg";
import { execute, urlOfDatabase } from "./server.ts";

/** Whether the tests run on the coordinator of a Citus cluster, with the extension in the database of the address. */
export const isCitus = (): boolean => process.env["RETURNS_TEST_CITUS"] === "1";

const FEWEST_NODES = 2;

/** The address of the coordinator, then those of its nodes; throws if there are fewer than two, which would hide refusals of nodes. */
export async function listServers(serverUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ host: string; port: number }>(
      "select nodename as host, nodeport as port from pg_dist_node where shouldhaveshards and isactive order by groupid",
    );
    if (rows.length < FEWEST_NODES) {
      throw new Error(`RETURNS_TEST_CITUS=1 needs a coordinator without shards and ${FEWEST_NODES} nodes.`);
    }
    const nodes = rows.map(({ host, port }) =>
      Object.assign(new URL(serverUrl), { host: `${host}:${port}` }),
    );
    return [serverUrl, ...nodes.map(({ href }) => href)];
  } finally {
    await client.end();
  }
}

/** Makes a cluster of one database on each server, the coordinator's first. */
export async function joinNodes(urls: readonly string[]): Promise<void> {
  for (const url of urls) await execute(url, "create extension citus");
  const [coordinator = "", ...nodes] = urls;
  await execute(coordinator, `select citus_set_coordinator_host(${placeOf(coordinator)})`);
  for (const node of nodes) await addNode(coordinator, node);
  const name = new URL(coordinator).pathname.slice(1);
  await execute(coordinator, `alter database ${name} set citus.shard_count = 4`);
}

export async function addNode(coordinator: string, node: string): Promise<void> {
  await execute(coordinator, `select citus_add_node(${placeOf(node)})`);
}

function placeOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `'${hostname}', ${port === "" ? 5432 : port}`;
}

/** Allows a database to be copied: Citus connects to each, and PostgreSQL does not copy a database with connections. */
export async function freeze(serverUrl: string, name: string): Promise<void> {
  for (const server of await listServers(serverUrl)) {
    await execute(server, `alter database ${name} allow_connections false`);
    const ended = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`;
    await execute(urlOfDatabase(server, "postgres"), ended);
  }
}

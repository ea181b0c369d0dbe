import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { distributeInstallation } from "../../src/store/distribute.ts";
import { migrate } from "../../src/store/migrate.ts";
import { joinNodes, listServers } from "../../tests/support/citus.ts";
import { createTestLogins, openConnections } from "../../tests/support/database.ts";
import { execute, urlOfDatabase } from "../../tests/support/server.ts";
import { openTestPool } from "../../tests/support/service.ts";
import { eventually } from "../../tests/support/worker.ts";

/** HOST:PORT of a server, as Citus names it. */
type Place = string;

/** The coordinator's address, a server that belongs to no cluster, and commands for what SQL cannot do. */
const GIVEN = {
  url: process.env["RETURNS_CHAOS_CITUS_URL"] ?? "",
  spare: process.env["RETURNS_CHAOS_CITUS_SPARE"] ?? "",
  stop: process.env["RETURNS_CHAOS_CITUS_STOP"] ?? "",
  start: process.env["RETURNS_CHAOS_CITUS_START"] ?? "",
};

/** Why the cluster tests cannot run here; null = they can. */
export function missingCitus(): string | null {
  const missing = Object.entries(GIVEN).filter(([, value]) => value === "");
  if (missing.length === 0) return null;
  const names = missing.map(([name]) => `RETURNS_CHAOS_CITUS_${name.toUpperCase()}`).join(", ");
  return `citus needs ${names}: the addresses of a cluster and commands that stop and start its servers (CONTRIBUTING.md).`;
}

/** Stops a server at once, as a crash does, or starts it again; resolves once the command has ended. */
export async function runCommand(name: "stop" | "start", place: Place): Promise<void> {
  const { hostname: HOST, port: PORT } = new URL(`http://${place}`);
  const env = { ...process.env, HOST, PORT };
  const child = spawn(GIVEN[name], { shell: true, stdio: ["ignore", "ignore", "inherit"], env });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The command for ${place} ended with ${code}: ${GIVEN[name]}`);
}

export type Rows = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;
export type CitusCluster = Awaited<ReturnType<typeof makeCluster>>;

const SHARDS = 8;
const LONGEST_START_SECONDS = 60;
const LONGEST_REBALANCE_SECONDS = 300;

/** A separate database on every server of the cluster, migrated and distributed. */
export async function makeCluster() {
  const name = `chaos_${randomBytes(4).toString("hex")}`;
  const servers = await listServers(GIVEN.url);
  const spareServer = Object.assign(new URL(GIVEN.url), { host: GIVEN.spare }).href;
  const urls = servers.map((server) => urlOfDatabase(server, name));
  const [url = ""] = urls;
  for (const server of servers) await execute(server, `create database ${name}`);
  await joinNodes(urls);
  await execute(url, `alter database ${name} set citus.shard_count = ${SHARDS}`);
  await createTestLogins(url);
  await migrate({ url });
  const database = openConnections(url, { maxConnections: 8, applicationName: "returns-chaos" });
  await distributeInstallation(database);
  const pool = openTestPool(url);
  const rows: Rows = async (text, values = []) => (await pool.query(text, values)).rows;
  const [coordinator = "", ...nodes] = servers.map(placeOf);
  return {
    url,
    /** For imports and the operator's actions, through the coordinator. */
    database,
    rows,
    coordinator,
    nodes,
    nodesOf: (shopKeys: readonly number[]) => readNodes(rows, shopKeys),
    moveShop: (shopKey: number) => moveShop(rows, shopKey),
    /** Adds the spare server and rebalances; resolves to the number of shops' shards that it then has. */
    addSpare: async (): Promise<number> => {
      await execute(spareServer, `create database ${name}`);
      const spare = urlOfDatabase(spareServer, name);
      await execute(spare, "create extension citus");
      // Every server has the logins before it joins (docs/scaling.md).
      await createTestLogins(spare);
      return addNode(rows, placeOf(spareServer));
    },
    /** Resolves once the server answers. */
    answers: async (place: Place): Promise<void> => {
      const server = Object.assign(new URL(url), { host: place }).href;
      const isThere = () =>
        execute(server, "select").then(
          () => true,
          () => false,
        );
      await eventually(isThere, `${place} answers`, LONGEST_START_SECONDS);
    },
    drop: async (): Promise<void> => {
      await pool.end();
      await database.close();
      for (const server of [...servers, spareServer]) {
        await execute(server, `drop database if exists ${name} with (force)`);
      }
    },
  };
}

function placeOf(server: string): Place {
  const { hostname, port } = new URL(server);
  return `${hostname}:${port === "" ? 5432 : port}`;
}

/** Shards of shops and the nodes that hold them. */
const PLACEMENTS = `
  from unnest($1::bigint[]) k (shop_key)
  join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('workspace', k.shop_key)
  join pg_dist_node n on n.groupid = p.groupid`;

/** The nodes of shops, by shop key. */
async function readNodes(rows: Rows, shopKeys: readonly number[]): Promise<Map<number, Place>> {
  const select = `select k.shop_key, n.nodename || ':' || n.nodeport as node ${PLACEMENTS}`;
  const found = await rows<{ shop_key: string; node: string }>(select, [shopKeys]);
  return new Map(found.map(({ shop_key, node }) => [Number(shop_key), node]));
}

/** Moves the shards with a shop's rows, of all tables, to another node; resolves to the number of moved tables. */
async function moveShop(rows: Rows, shopKey: number): Promise<number> {
  const moved = await rows(
    `select citus_move_shard_placement(m.shardid, m.nodename, m.nodeport, m.to_name, m.to_port, 'force_logical')
       from (select p.shardid, n.nodename, n.nodeport, o.nodename as to_name, o.nodeport as to_port ${PLACEMENTS}
               join pg_dist_node o on o.shouldhaveshards and o.groupid <> n.groupid limit 1) m`,
    [[shopKey]],
  );
  if (moved.length === 0) throw new Error("there is no other node");
  const [count] = await rows<{ tables: number }>(
    "select count(*)::integer as tables from pg_dist_partition where partmethod = 'h'",
  );
  return count?.tables ?? 0;
}

async function addNode(rows: Rows, place: Place): Promise<number> {
  const [host, port] = place.split(":");
  await rows("select citus_add_node($1::text, $2::integer)", [host, port]);
  await rows("select citus_rebalance_start(shard_transfer_mode := 'force_logical')");
  const isFinished = async (): Promise<boolean> => {
    const [job] = await rows<{ state: string }>(
      "select state::text from pg_dist_background_job order by job_id desc limit 1",
    );
    if (job?.state === "failed") throw new Error("the rebalance failed");
    return job?.state === "finished";
  };
  await eventually(isFinished, "the rebalance", LONGEST_REBALANCE_SECONDS);
  const [moved] = await rows<{ shards: number }>(
    `select count(*)::integer as shards
       from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid
       join pg_dist_shard s on s.shardid = p.shardid and s.logicalrelid = 'workspace'::regclass
      where n.nodename = $1 and n.nodeport = $2::integer`,
    [host, port],
  );
  return moved?.shards ?? 0;
}

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../src/store/database.ts";
import { distributeInstallation } from "../../../src/store/distribute.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { joinNodes, listServers } from "../../../tests/support/citus.ts";
import { openConnections, createTestLogins } from "../../../tests/support/database.ts";
import { execute, urlOfDatabase } from "../../../tests/support/server.ts";
import { openTestPool } from "../../../tests/support/service.ts";
import { eventually } from "../../../tests/support/worker.ts";

/** A server of the cluster, as Citus names it. */
type Place = { host: string; port: number };

/** What the environment gives: addresses, and the commands for what SQL cannot do. */
export type Given = {
  /** Of a database with the extension on the coordinator, as a superuser. */
  coordinatorUrl: string;
  /** A server with the extension that belongs to no cluster. */
  spare: Place;
  /** Stops a server at once, as a crash does. */
  stop(place: Place): Promise<void>;
  /** Starts it again; resolves once the command has ended. */
  start(place: Place): Promise<void>;
};

const NAMES = {
  url: "RETURNS_CHAOS_CITUS_URL",
  spare: "RETURNS_CHAOS_CITUS_SPARE",
  stop: "RETURNS_CHAOS_CITUS_STOP",
  start: "RETURNS_CHAOS_CITUS_START",
};

/** Why the part cannot run here; null = it can. */
export function missingCitus(): string | null {
  const missing = Object.values(NAMES).filter((name) => (process.env[name] ?? "") === "");
  if (missing.length === 0) return null;
  return `citus needs ${missing.join(", ")}: the addresses of a cluster and commands that stop and start its servers (CONTRIBUTING.md).`;
}

export function readGiven(): Given {
  const value = (name: string): string => process.env[name] ?? "";
  const [host = "", port = "5432"] = value(NAMES.spare).split(":");
  return {
    coordinatorUrl: value(NAMES.url),
    spare: { host, port: Number(port) },
    stop: (place) => runFor(value(NAMES.stop), place),
    start: (place) => runFor(value(NAMES.start), place),
  };
}

/** Runs a shell command that finds the server in HOST and PORT. */
async function runFor(command: string, { host, port }: Place): Promise<void> {
  const env = { ...process.env, HOST: host, PORT: String(port) };
  const child = spawn(command, { shell: true, stdio: ["ignore", "ignore", "inherit"], env });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The command for ${host}:${port} ended with ${code}: ${command}`);
}

/** A database of its own on every server of the cluster, migrated and distributed. */
export type Cluster = {
  url: string;
  /** For imports and the operator's actions, through the coordinator. */
  database: Database;
  rows: Rows;
  coordinator: Place;
  nodes: readonly Place[];
  /** The nodes of shops, as HOST:PORT, by shop key. */
  nodesOf(shopKeys: readonly number[]): Promise<Map<number, string>>;
  /** Moves the shards that hold a shop's rows from its node to another one; resolves to how many tables moved. */
  moveShop(shopKey: number): Promise<number>;
  /** Adds the spare server and rebalances; resolves to how many shops' shards it holds now. */
  addSpare(): Promise<number>;
  /** Resolves once the server answers. */
  answers(place: Place): Promise<void>;
  drop(): Promise<void>;
};

const SHARDS = 8;
const LONGEST_START_SECONDS = 60;
const LONGEST_REBALANCE_MS = 300_000;

export async function makeCluster(given: Given): Promise<Cluster> {
  const name = `chaos_${randomBytes(4).toString("hex")}`;
  const servers = await listServers(given.coordinatorUrl);
  const spareServer = Object.assign(new URL(given.coordinatorUrl), {
    host: `${given.spare.host}:${given.spare.port}`,
  }).href;
  const urls = servers.map((server) => urlOfDatabase(server, name));
  const [url = ""] = urls;
  for (const server of servers) await execute(server, `create database ${name}`);
  await joinNodes(urls);
  await execute(url, `alter database ${name} set citus.shard_count = ${SHARDS}`);
  await createTestLogins(url);
  await migrate({ url });
  const database = openConnections(url, { maxConnections: 8, applicationName: "returns-chaos" });
  await distributeInstallation(database);
  const [coordinator, ...nodes] = servers.map(placeOf) as [Place, ...Place[]];
  const pool = openTestPool(url);
  const rows: Rows = async (text, values = []) => (await pool.query(text, values)).rows;
  return {
    url,
    database,
    rows,
    coordinator,
    nodes,
    nodesOf: (shopKeys) => readNodes(rows, shopKeys),
    moveShop: (shopKey) => moveShop(rows, shopKey),
    addSpare: async () => {
      await execute(spareServer, `create database ${name}`);
      await execute(urlOfDatabase(spareServer, name), "create extension citus");
      return addNode(rows, given.spare);
    },
    answers: async (place) => {
      const server = Object.assign(new URL(url), { host: `${place.host}:${place.port}` }).href;
      const answersNow = () =>
        execute(server, "select").then(
          () => true,
          () => false,
        );
      await eventually(answersNow, `${place.host}:${place.port} answers`, LONGEST_START_SECONDS);
    },
    drop: async () => {
      await pool.end();
      await database.close();
      for (const server of [...servers, spareServer]) {
        await execute(server, `drop database if exists ${name} with (force)`);
      }
    },
  };
}

export type Rows = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;

const SHARD_OF = "get_shard_id_for_distribution_column('workspace', k.shop_key)";

async function readNodes(rows: Rows, shopKeys: readonly number[]): Promise<Map<number, string>> {
  const found = await rows<{ shop_key: string; node: string }>(
    `select k.shop_key, n.nodename || ':' || n.nodeport as node
       from unnest($1::bigint[]) k (shop_key)
       join pg_dist_placement p on p.shardid = ${SHARD_OF}
       join pg_dist_node n on n.groupid = p.groupid`,
    [shopKeys],
  );
  return new Map(found.map(({ shop_key, node }) => [Number(shop_key), node]));
}

/** Citus moves the shards of all co-located tables with the one that is named. */
async function moveShop(rows: Rows, shopKey: number): Promise<number> {
  const [move] = await rows<{
    shard: string;
    from_host: string;
    from_port: number;
    to_host: string;
    to_port: number;
  }>(
    `select p.shardid::text as shard, n.nodename as from_host, n.nodeport as from_port,
            other.nodename as to_host, other.nodeport as to_port
       from unnest($1::bigint[]) k (shop_key)
       join pg_dist_placement p on p.shardid = ${SHARD_OF}
       join pg_dist_node n on n.groupid = p.groupid
       join pg_dist_node other on other.shouldhaveshards and other.groupid <> n.groupid
      limit 1`,
    [[shopKey]],
  );
  if (move === undefined) throw new Error("there is no other node");
  await rows(
    "select citus_move_shard_placement($1::bigint, $2::text, $3::integer, $4::text, $5::integer, 'force_logical') is null as moved",
    [move.shard, move.from_host, move.from_port, move.to_host, move.to_port],
  );
  const [count] = await rows<{ tables: number }>(
    "select count(*)::integer as tables from pg_dist_partition where partmethod = 'h'",
  );
  return count?.tables ?? 0;
}

async function addNode(rows: Rows, { host, port }: Place): Promise<number> {
  await rows("select citus_add_node($1::text, $2::integer) as node", [host, port]);
  await rows("select citus_rebalance_start(shard_transfer_mode := 'force_logical') as job");
  const startMs = performance.now();
  for (;;) {
    const [job] = await rows<{ state: string }>(
      "select state::text from pg_dist_background_job order by job_id desc limit 1",
    );
    if (job?.state === "finished") break;
    const isStuck = performance.now() - startMs > LONGEST_REBALANCE_MS;
    if (isStuck || job?.state === "failed") throw new Error(`the rebalance is ${job?.state}`);
    await sleep(500);
  }
  const [moved] = await rows<{ shards: number }>(
    `select count(*)::integer as shards
       from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid
       join pg_dist_shard s on s.shardid = p.shardid and s.logicalrelid = 'workspace'::regclass
      where n.nodename = $1 and n.nodeport = $2`,
    [host, port],
  );
  return moved?.shards ?? 0;
}

function placeOf(server: string): Place {
  const { hostname, port } = new URL(server);
  return { host: hostname, port: port === "" ? 5432 : Number(port) };
}

import { readFileSync } from "node:fs";
import { openKeys } from "../../src/actions/installation/secrets.ts";
import { distributeInstallation } from "../../src/store/distribute.ts";
import { migrate } from "../../src/store/migrate.ts";
import { joinNodes, listServers } from "../../tests/support/citus.ts";
import { execute, urlOfDatabase } from "../../tests/support/server.ts";
import { openBenchDatabase } from "./context.ts";
import type { BenchContext } from "./context.ts";
import { SMALL_STORE, addCountedPlan, loadStore, summariesOf } from "./store.ts";
import type { BenchRow } from "./measure.ts";
import { putLoad, SPREAD, cpuSecondsOf, startService } from "./servers.ts";
import { shownSpread, spreadOf } from "./measure.ts";
import type { LoadRequest, MeasuredServer } from "./servers.ts";

const DATABASE_NAME = "returns_bench";
const WORKSPACES = 500;
/** As in docs/scaling.md: each connection keeps plans for each shard of the node. */
const SHARDS = 32;
const ROUNDS = 5;
const LOAD = { connections: 32, seconds: 6, ratePerSecond: null };

const ONE_LOGIN = { DATABASE_READER_URL: "", DATABASE_ADMISSION_URL: "", DATABASE_WORKER_URL: "" };

/** A database under measurement: one server, or the coordinator of a cluster and then its nodes. */
type Side = { url: string; servers: readonly string[]; requests: readonly LoadRequest[] };
type Round = { perSecond: number; microseconds: number[] };
/** Answers from the response cache, and those that the database answers. */
const KINDS = { remembered: {}, uncached: { ANSWER_MEMORY_MB: "0" } };

/**
 * Cached and uncached answers of many shops from a Citus cluster (BENCH_CITUS_URL: its coordinator) and from one server
 * (BENCH_SERVER_URL, else the embedded one), in turn: the processor time of all PostgreSQL processes for each request. All
 * servers must run on this machine, where /proc shows them.
 */
export async function measureCluster(context: BenchContext): Promise<BenchRow[]> {
  const { BENCH_CITUS_URL: citusUrl, BENCH_SERVER_URL: serverUrl } = process.env;
  if (citusUrl === undefined) throw new Error("cluster needs BENCH_CITUS_URL, the address of a coordinator");
  const made: string[] = [];
  try {
    const servers = await makeDatabases(await listServers(citusUrl), made);
    await joinNodes(servers);
    await execute(servers[0] ?? "", `alter database ${DATABASE_NAME} set citus.shard_count = ${SHARDS}`);
    const cluster = await fillDatabase(context, servers, true);
    const ones =
      serverUrl === undefined ? [context.installation.databaseUrl] : await makeDatabases([serverUrl], made);
    const one = await fillDatabase(context, ones, false);
    const rows: BenchRow[] = [];
    for (const [kind, environment] of Object.entries(KINDS)) {
      rows.push(
        ...(await measureInTurn(
          { ...context, environment: { ...context.environment, ...environment } },
          { kind, one, cluster },
        )),
      );
    }
    return rows;
  } finally {
    for (const url of made.toReversed()) {
      await execute(urlOfDatabase(url, "postgres"), `drop database if exists ${DATABASE_NAME} with (force)`);
    }
  }
}

async function makeDatabases(servers: readonly string[], made: string[]): Promise<string[]> {
  for (const server of servers) {
    await execute(server, `drop database if exists ${DATABASE_NAME} with (force)`);
    await execute(server, `create database ${DATABASE_NAME}`);
    made.push(urlOfDatabase(server, DATABASE_NAME));
  }
  return servers.map((server) => urlOfDatabase(server, DATABASE_NAME));
}

async function fillDatabase(
  { installation, tell }: BenchContext,
  servers: readonly string[],
  isCluster: boolean,
): Promise<Side> {
  const [url = ""] = servers;
  await migrate({ url });
  const database = openBenchDatabase(url);
  try {
    if (url !== installation.databaseUrl) await addCountedPlan(database);
    const crowd = await loadStore(database, {
      kind: "crowd",
      tokenPepper: (await openKeys({ ...installation, database })).tokenPepper,
      change: SMALL_STORE,
      workspaces: WORKSPACES,
      tell,
    });
    if (isCluster) await distributeInstallation(database);
    return { url, servers, requests: summariesOf(crowd) };
  } finally {
    await database.close();
  }
}

async function measureInTurn(
  context: BenchContext,
  { kind, one, cluster }: { kind: string; one: Side; cluster: Side },
): Promise<BenchRow[]> {
  const services: MeasuredServer[] = [];
  const start = async ({ url }: Side): Promise<MeasuredServer> => {
    // With one login: the databases of other servers have no roles.
    const service = await startService({ ...context.environment, ...ONE_LOGIN, DATABASE_URL: url });
    services.push(service);
    return service;
  };
  try {
    const sides = [
      { ...one, service: await start(one), rounds: [] as Round[] },
      { ...cluster, service: await start(cluster), rounds: [] as Round[] },
    ] as const;
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const side of sides) {
        const measured = await measureRound(side, side.service.address);
        if (round > 0) side.rounds.push(measured);
        else await analyze(side);
        context.tell(
          `${Math.round(measured.perSecond)}/s, ${measured.microseconds.map(Math.round).join(" + ")} µs`,
        );
      }
    }
    return rowsOf(kind, sides[0].rounds, sides[1].rounds);
  } finally {
    for (const service of services) await service.stop();
  }
}

/** Analyzes as the server itself would within minutes: the first round created rows that existing plans do not cover. */
async function analyze({ url }: Side): Promise<void> {
  await execute(url, "analyze");
}

/** The first server of a cluster is its coordinator. */
async function measureRound({ servers, requests }: Side, address: string): Promise<Round> {
  const postmasters = await Promise.all(servers.map(findPostmaster));
  const before = postmasters.map(processorSeconds);
  const outcome = await putLoad({ address, requests, ...LOAD });
  const microseconds = postmasters.map(
    (pid, index) => ((processorSeconds(pid) - (before[index] ?? 0)) / outcome.requests) * 1e6,
  );
  return { perSecond: outcome.perSecond, microseconds };
}

/** The parent of all processes of a server. */
async function findPostmaster(url: string): Promise<number> {
  const database = openBenchDatabase(url);
  try {
    const [row] = await database.rows<{ pid: number }>(FIND_BACKEND, []);
    const status = readFileSync(`/proc/${row?.pid}/status`, "utf8");
    return Number(/^PPid:\s+(\d+)/mu.exec(status)?.[1]);
  } finally {
    await database.close();
  }
}

const FIND_BACKEND = { name: "bench_find_backend", text: "select pg_backend_pid() as pid" };

/** The processor time of a server's processes, including ended ones: their parent is read last. */
function processorSeconds(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim().split(" ");
  const running = children.reduce((sum, pid) => sum + secondsWhileRunning(Number(pid)), 0);
  return running + cpuSecondsOf(postmaster, true);
}

function secondsWhileRunning(pid: number): number {
  try {
    return cpuSecondsOf(pid);
  } catch {
    return 0;
  }
}

function rowsOf(kind: string, one: readonly Round[], cluster: readonly Round[]): BenchRow[] {
  const total = ({ microseconds }: Round): number => microseconds.reduce((sum, value) => sum + value, 0);
  const shown = (values: readonly number[], digits = 0): string => shownSpread(spreadOf(values), digits);
  const ratio = (valueOf: (round: Round) => number): string =>
    shown(
      cluster.map((round, index) => valueOf(round) / valueOf(one[index] as Round)),
      2,
    );
  return [
    {
      name: `processor time of PostgreSQL for a summary, ${kind}, ${WORKSPACES} workspaces on a Citus; ${SPREAD}`,
      value: `${shown(cluster.map(total))} µs`,
      floor: `${shown(one.map(total))} µs with one server`,
      ratio: ratio(total),
      target: "≤ 3",
    },
    {
      name: "of it on the coordinator; on all nodes",
      value: `${shown(cluster.map(({ microseconds }) => microseconds[0] ?? 0))}; ${shown(
        cluster.map((round) => total(round) - (round.microseconds[0] ?? 0)),
      )} µs`,
    },
    {
      name: "requests a second in the same rounds",
      value: `${shown(cluster.map(({ perSecond }) => perSecond))}/s`,
      floor: `${shown(one.map(({ perSecond }) => perSecond))}/s with one server`,
      ratio: ratio(({ perSecond }) => perSecond),
    },
  ];
}

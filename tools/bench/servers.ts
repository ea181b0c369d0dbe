import { spreadOf } from "./measure.ts";
import type { Spread } from "./measure.ts";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

/** A measured server, alone on one core if the system allows to bind processes to cores. */
export type MeasuredServer = {
  address: string;
  /** CPU seconds used so far; current and peak resident memory. NaN without /proc. */
  usage(): { cpuSeconds: number; residentMb: number; peakMb: number };
  stop(): Promise<void>;
};

const LAUNCHER = join(import.meta.dirname, "../../scripts/launch.js");
const SERVER_CORE = "0";
const LOAD_CORE = "1";
const CLOCK_TICKS_PER_SECOND = 100;

const canBind = spawnSync("taskset", ["-c", SERVER_CORE, "true"]).status === 0;

/** How the processes are distributed over cores, in words for the table. */
export const SPREAD = canBind ? "server on one core" : "server on any core";

/** The command that runs this Node.js on the core of the load generator, or on that of the server. */
function boundCommand(part: "server" | "load", args: readonly string[]): [string, string[]] {
  if (!canBind) return [process.execPath, [...args]];
  return ["taskset", ["-c", part === "server" ? SERVER_CORE : LOAD_CORE, process.execPath, ...args]];
}

/** Starts the service as `npm start` does, with its default log level. */
export function startService(environment: Record<string, string>): Promise<MeasuredServer> {
  const args = [LAUNCHER, "src/cli/main.ts", "serve", "--no-demo", "--json"];
  return startMeasured(args, { ...environment, LOG_LEVEL: "info" });
}

/** Starts another program in the same way, with the same options of Node.js. */
export function startLikeService(program: string, ...args: string[]): Promise<MeasuredServer> {
  return startMeasured([LAUNCHER, program, "serve", ...args], {});
}

/** Starts a program that prints {"address"} once it listens; its log is dropped. */
async function startMeasured(
  args: readonly string[],
  environment: Record<string, string>,
): Promise<MeasuredServer> {
  const [command, commandArgs] = boundCommand("server", args);
  const child = spawn(command, commandArgs, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<void>((done) => {
    child.on("exit", () => done());
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  let printed = "";
  for await (const line of createInterface({ input: child.stdout })) {
    printed += line;
    const address = /"address":\s*"([^"]+)"/u.exec(printed)?.[1];
    if (address !== undefined) return { address, usage: () => usageOf(serverPid(child.pid ?? 0)), stop };
  }
  throw new Error(`the server did not start: ${args.join(" ")}`);
}

/** The launcher waits for the server, its only child. */
function serverPid(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ", 1)[0]) || pid;
  } catch {
    return pid;
  }
}

/** CPU seconds that a process has used so far, with `withEnded` including its ended children. Throws without /proc. */
export function cpuSecondsOf(pid: number, withEnded = false): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const used = fields.slice(11, withEnded ? 15 : 13);
  return used.reduce((sum, ticks) => sum + Number(ticks), 0) / CLOCK_TICKS_PER_SECOND;
}

export function usageOf(pid: number): ReturnType<MeasuredServer["usage"]> {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const megabytes = (name: string): number =>
      Number(new RegExp(`${name}:\\s+(\\d+)`, "u").exec(status)?.[1]) / 1024;
    return {
      cpuSeconds: cpuSecondsOf(pid),
      residentMb: megabytes("VmRSS"),
      peakMb: megabytes("VmHWM"),
    };
  } catch {
    return { cpuSeconds: Number.NaN, residentMb: Number.NaN, peakMb: Number.NaN };
  }
}

/** A GET with a token. */
export type LoadRequest = { path: string; token: string };

export type Load = {
  address: string;
  /** Sent in turn. */
  requests: readonly LoadRequest[];
  connections: number;
  seconds: number;
  /** null = as fast as answers arrive. */
  ratePerSecond: number | null;
};

export type LoadOutcome = { perSecond: number; requests: number; failures: number; p99Ms: number };

const LOAD_PROCESS = join(import.meta.dirname, "load-process.ts");

/** Puts a load on a server from a separate process; throws if a request is not answered with 200. */
export async function putLoad(load: Load): Promise<LoadOutcome> {
  const outcome = await tryLoad(load);
  if (outcome.failures > 0) throw new Error(`${outcome.failures} of ${outcome.requests} requests failed`);
  return outcome;
}

/** The same, but failed requests are counted. */
export async function tryLoad(load: Load): Promise<LoadOutcome> {
  const [command, args] = boundCommand("load", [LOAD_PROCESS]);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(load));
  return JSON.parse(await text(child.stdout)) as LoadOutcome;
}

export type Side = { server: MeasuredServer; requests: readonly LoadRequest[] };

/** `ratio` compares each round of one with the next round of the other; CPU is the server's for one request. */
export type Comparison = Record<
  "perSecond" | "floorPerSecond" | "ratio" | "cpuMicroseconds" | "floorCpuMicroseconds",
  Spread
>;

export type Rounds = { rounds: number; seconds: number; connections: number };

/** Until the engine has compiled the hot code. */
const WARM_UP_SECONDS = 5;

/** Loads both sides in turn, so that both have the same load of the machine. */
export async function compare(side: Side, floor: Side, rounds: Rounds): Promise<Comparison> {
  const sides = [side, floor] as const;
  for (const each of sides) await runRound(each, { ...rounds, seconds: WARM_UP_SECONDS });
  const results: { own: Round; floor: Round }[] = [];
  for (let round = 0; round < rounds.rounds; round += 1) {
    results.push({ own: await runRound(side, rounds), floor: await runRound(floor, rounds) });
  }
  return {
    perSecond: spreadOf(results.map(({ own }) => own.perSecond)),
    floorPerSecond: spreadOf(results.map((result) => result.floor.perSecond)),
    ratio: spreadOf(results.map((result) => result.own.perSecond / result.floor.perSecond)),
    cpuMicroseconds: spreadOf(results.map(({ own }) => own.cpuMicroseconds)),
    floorCpuMicroseconds: spreadOf(results.map((result) => result.floor.cpuMicroseconds)),
  };
}

type Round = { perSecond: number; cpuMicroseconds: number };

async function runRound({ server, requests }: Side, { connections, seconds }: Rounds): Promise<Round> {
  const before = server.usage().cpuSeconds;
  const outcome = await putLoad({
    address: server.address,
    requests,
    connections,
    seconds,
    ratePerSecond: null,
  });
  const cpuMicroseconds = ((server.usage().cpuSeconds - before) / outcome.requests) * 1e6;
  return { perSecond: outcome.perSecond, cpuMicroseconds };
}

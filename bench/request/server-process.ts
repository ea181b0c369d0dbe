import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** A server under measurement, alone on one core where the system lets a process be bound to one. */
export type MeasuredServer = {
  address: string;
  /** CPU seconds it has used so far; resident memory now and at most. Not a number where /proc is not there. */
  usage(): { cpuSeconds: number; residentMb: number; peakMb: number };
  stop(): Promise<void>;
};

const LAUNCHER = join(resolve(import.meta.dirname, "../.."), "scripts/launch.js");
const SERVER_CORE = "0";
const LOAD_CORE = "1";
const CLOCK_TICKS_PER_SECOND = 100;

const canBind = spawnSync("taskset", ["-c", SERVER_CORE, "true"]).status === 0;

/** How the processes of a measurement are spread, in words for its table. */
export const SPREAD = canBind ? "server on one core" : "server on any core";

/** The command that runs this Node.js on the core of the load's generator, or on that of the server. */
export function boundCommand(part: "server" | "load", args: readonly string[]): [string, string[]] {
  if (!canBind) return [process.execPath, [...args]];
  return ["taskset", ["-c", part === "server" ? SERVER_CORE : LOAD_CORE, process.execPath, ...args]];
}

/** Starts the service as `npm start` does, with the log level that it has by default. */
export function startService(environment: Record<string, string>): Promise<MeasuredServer> {
  const args = [LAUNCHER, "src/cli/main.ts", "serve", "--no-demo", "--json"];
  return startMeasured(args, { ...environment, LOG_LEVEL: "info" });
}

/** Starts another program in the same way, with the same options of Node.js. */
export function startLikeService(program: string, ...args: string[]): Promise<MeasuredServer> {
  return startMeasured([LAUNCHER, program, "serve", ...args], {});
}

/** Starts a program that prints {"address"} once it listens; its log goes nowhere. */
export async function startMeasured(
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
  let text = "";
  for await (const line of createInterface({ input: child.stdout })) {
    text += line;
    const address = /"address":\s*"([^"]+)"/u.exec(text)?.[1];
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

/** CPU seconds that a process has used so far, with its children that have ended if asked. Throws where /proc is not there. */
export function cpuSecondsOf(pid: number, withEnded = false): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const used = fields.slice(11, withEnded ? 15 : 13);
  return used.reduce((sum, ticks) => sum + Number(ticks), 0) / CLOCK_TICKS_PER_SECOND;
}

function usageOf(pid: number): ReturnType<MeasuredServer["usage"]> {
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

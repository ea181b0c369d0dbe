import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { createCaller, serviceEnvironment, type ServiceCaller } from "./service.ts";

export type ServerProcess = {
  address: string;
  call: ServiceCaller;
  pid: number;
  isRunning(): boolean;
  signal(name: NodeJS.Signals): void;
  /** The exit code; null when a signal ended the process. */
  ended: Promise<number | null>;
};

const ENTRY = join(import.meta.dirname, "server-entry.ts");

/** Starts a real server process on a database and waits until it listens; it never outlives the test. `entry`: of another version. */
export async function startServerProcess(
  context: { after(stop: () => void): void },
  databaseUrl: string,
  environment: Record<string, string> = {},
  entry: string = ENTRY,
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [entry], {
    env: {
      // Code that an earlier start compiled.
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...serviceEnvironment(databaseUrl),
      LOG_LEVEL: "silent",
      ...environment,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then((code) => Promise.reject(new Error(`the server ended with ${code} before it listened`))),
  ])) as [string];
  const { address } = JSON.parse(line) as { address: string };
  return {
    address,
    call: createCaller(address),
    pid: child.pid ?? 0,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    signal: (name) => void child.kill(name),
    ended,
  };
}

/** Resident memory of a process; 0 without /proc, or if the process has ended. */
export function residentMb(pid: number): number {
  try {
    const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

/** A simulator that runs in a separate process. */
export interface SimulatorProcess {
  url: string;
  stop: () => Promise<void>;
}

/** Another process listens on the port that a simulator was given. */
export class PortTaken extends Error {
  readonly port: number;
  constructor(port: number) {
    super(`port ${port} is taken`);
    this.port = port;
  }
}

/** The one line that a simulator's process says of its start. */
type Start = { url: string } | { takenPort: number };

/**
 * Starts a simulator's entry file with its options; resolves when it listens. Rejects when it ends before, with
 * `PortTaken` when its port is.
 */
export async function startProcess(file: string, options: unknown): Promise<SimulatorProcess> {
  const child = spawn(process.execPath, [file, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const url = await readyUrl(child, file);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  return {
    url,
    stop: async () => {
      child.stdin?.end();
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/**
 * Called by a simulator's process with what makes it listen; the result is reported to its parent. It ends on SIGTERM, on SIGINT, and with the process that
 * started it: the pipe between them closes even when that one is killed.
 */
export async function announceStart(start: () => Promise<SimulatorProcess>): Promise<void> {
  const { url, stop } = await start().catch((error: NodeJS.ErrnoException & { port?: number }) => {
    if (error.code !== "EADDRINUSE" || error.port === undefined) throw error;
    announce({ takenPort: error.port });
    process.exit(1);
  });
  const end = (): void => {
    void stop().then(() => process.exit(0));
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);
  process.stdin.once("close", end);
  process.stdin.resume();
  announce({ url });
}

function announce(start: Start): void {
  process.stdout.write(`${JSON.stringify(start)}\n`);
}

async function readyUrl(child: ChildProcess, file: string): Promise<string> {
  if (child.stdout === null) throw new Error("the simulator has no output");
  for await (const line of createInterface({ input: child.stdout })) {
    const start = JSON.parse(line) as Start;
    child.stdout.resume();
    if ("takenPort" in start) throw new PortTaken(start.takenPort);
    return start.url;
  }
  throw new Error(`${file} ended before it listened`);
}

import { AsyncLocalStorage } from "node:async_hooks";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { runProgram } from "../../src/cli/program.ts";
import { serviceEnvironment } from "./service.ts";

export type CommandOutcome = { code: number | null; stdout: string; stderr: string };

/** A running command; `outcome` resolves when it has ended. */
export type RunningCommand = {
  child: ChildProcess;
  outcome: Promise<CommandOutcome>;
  /** Resolves with the standard output so far once it matches; rejects when the command ends before. */
  printed(pattern: RegExp): Promise<string>;
};

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

/**
 * Starts the real command in a separate process, with only the given environment, and with `input` as its standard
 * input.
 */
export function startCommand(
  words: readonly string[],
  environment: Record<string, string>,
  input?: string,
): RunningCommand {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { ...inherited(), ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A command that does not read it may have ended.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const outcome = new Promise<CommandOutcome>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  const printed = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (pattern.test(stdout)) resolve(stdout);
      };
      child.stdout.on("data", look);
      child.on("close", () => reject(new Error(`The command ended: ${stdout}${stderr}`)));
      look();
    });
  return { child, outcome, printed };
}

/** Starts a worker on a database; it does not outlive the test. */
export async function startWorkerProcess(
  context: { after(stop: () => void): void },
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<RunningCommand> {
  const usual = { ...serviceEnvironment(databaseUrl), LOG_LEVEL: "warn" };
  const worker = startCommand(["worker"], { ...usual, ...environment });
  context.after(() => void worker.child.kill("SIGKILL"));
  await worker.printed(/keeps connected sources/u);
  return worker;
}

/** The PATH, and the cache of compiled code. */
function inherited(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE };
}

/** These commands run until stopped, and so are tested as processes. */
const LASTING: ReadonlySet<string> = new Set(["serve", "worker"]);

/** What commands in this process read, and have written so far; the runner of the tests is outside of them. */
const streams = new AsyncLocalStorage<Record<"stdout" | "stderr", string> & { stdin: Readable }>();
const standardInput = Object.getOwnPropertyDescriptor(process, "stdin");
Object.defineProperty(process, "stdin", {
  ...standardInput,
  get: () => streams.getStore()?.stdin ?? (standardInput?.get?.call(process) as unknown),
});
for (const name of ["stdout", "stderr"] as const) {
  const stream = process[name];
  const write = stream.write.bind(stream) as (...given: unknown[]) => boolean;
  stream.write = (...given: unknown[]) => {
    const outcome = streams.getStore();
    if (outcome === undefined) return write(...given);
    outcome[name] += typeof given[0] === "string" ? given[0] : Buffer.from(given[0] as Uint8Array).toString();
    return true;
  };
}

/**
 * Runs a command line to its end, as `main` does, with `input` as its standard input: in this process, since a start takes longer
 * than most commands, but in a separate one for a command that runs until stopped.
 */
export async function runCommand(
  words: readonly string[],
  environment: Record<string, string>,
  input = "",
): Promise<CommandOutcome> {
  if (words.some((word) => LASTING.has(word))) return startCommand(words, environment, input).outcome;
  return runHere(words, environment, input);
}

/** The same always in this process: for a command that is refused. */
export const runHere = (
  words: readonly string[],
  environment: Record<string, string>,
  input = "",
): Promise<CommandOutcome> => startHere(words, environment, input).outcome;

/** Starts it in this process; `written`: what it has written so far. */
export function startHere(
  words: readonly string[],
  environment: Record<string, string>,
  input = "",
): { written: Readonly<Record<"stdout" | "stderr", string>>; outcome: Promise<CommandOutcome> } {
  const written = { stdout: "", stderr: "", stdin: Readable.from([Buffer.from(input)]) };
  const run = async (): Promise<CommandOutcome> => {
    const before = process.exitCode;
    process.exitCode = undefined;
    const code = await streams.run(written, () => runProgram(words, { environment }));
    process.exitCode = before;
    return { code, stdout: written.stdout, stderr: written.stderr };
  };
  return { written, outcome: run() };
}

/** Prints how a shell parses a line: the token before the command, then its words. */
const PRINT_WORDS = `sh -c 'printf "%s\\0" "$RETURNS_TOKEN" "$@"' returns`;

/** Runs a pasted line that begins with ./returns: a shell parses it, with $TOKEN set, and this process executes it. */
export async function runPasted(shell: "sh" | "bash", line: string, token: string): Promise<CommandOutcome> {
  const env = { ...process.env, TOKEN: token };
  const text = line.replace("./returns", () => PRINT_WORDS);
  const { stdout } = await promisify(execFile)(shell, ["-euc", text], { env });
  const [given = "", ...words] = stdout.split("\0").slice(0, -1);
  return runCommand(words, { RETURNS_TOKEN: given });
}

/** Runs a client program in this process, with TOKEN in its environment; returns what it prints. */
export async function runClientProgram(file: string, token: string): Promise<unknown[]> {
  const printed: unknown[] = [];
  const { log } = console;
  process.env["TOKEN"] = token;
  console.log = (...values: unknown[]) => void printed.push(...values);
  try {
    await import(pathToFileURL(file).href);
    return printed;
  } finally {
    console.log = log;
    delete process.env["TOKEN"];
  }
}

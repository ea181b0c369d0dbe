import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";

export type Outcome = { code: number | null; stdout: string; stderr: string };

/** A running command; `outcome` resolves when it has ended. */
export type RunningCommand = {
  child: ChildProcess;
  outcome: Promise<Outcome>;
  /** Resolves with the standard output so far once it matches; rejects when the command ends before. */
  printed(pattern: RegExp): Promise<string>;
};

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

/**
 * Starts the real command in a process of its own, with no more of the environment than what is given, and with `input`
 * as its standard input.
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
  const outcome = new Promise<Outcome>((resolve, reject) => {
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

/** Where commands are found, and code that an earlier start compiled. */
function inherited(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE };
}

/** Runs the real command to its end. */
export async function runCommand(
  words: readonly string[],
  environment: Record<string, string>,
  input?: string,
): Promise<Outcome> {
  return startCommand(words, environment, input).outcome;
}

import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

export type Ran = { code: number | null; output: string };

/** Whether a program is on the PATH, or where Debian has those of root. */
export function hasProgram(name: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => existsSync(join(folder, name)));
}

/** Runs a program to its end, silently. */
export function attempt(program: string, args: readonly string[], timeoutSeconds = 60): Ran {
  const options = { encoding: "utf8", timeout: timeoutSeconds * 1000, maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  return { code: status, output: `${stdout ?? ""}${status === 0 ? "" : (error?.message ?? stderr)}`.trim() };
}

/** The output of a program that has to succeed. */
export function demand(program: string, args: readonly string[], timeoutSeconds = 60): string {
  const { code, output } = attempt(program, args, timeoutSeconds);
  if (code !== 0) throw new Error(`${program} ${args.slice(0, 6).join(" ")} failed (${code}):\n${output}`);
  return output;
}

/** The same for a program that takes minutes; what it says is shown only when it fails. */
export async function work(
  program: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<string> {
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  const code = await new Promise<number | null>((ended, failed) => {
    child.on("error", failed);
    child.on("close", ended);
  });
  if (code !== 0) {
    throw new Error(
      `${program} ${args.slice(0, 6).join(" ")} failed (${code}):\n${output.trim().split("\n").slice(-40).join("\n")}`,
    );
  }
  return output.trim();
}

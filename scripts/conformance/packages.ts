import { spawn } from "node:child_process";
import { join } from "node:path";
import { projectRoot } from "../lint/tool.ts";

const TIMEOUT_MS = 60_000;

/** Imports by a name that is known at run time only: the packages are for these scripts alone. */
export async function load<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module;
}

/** A file of an installed package. */
export function installed(path: string): string {
  return join(projectRoot, "node_modules", path);
}

/** Runs a script on this Node.js until it ends; one that hangs is killed and has no exit code. */
export async function runNode(
  scriptArguments: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawn(process.execPath, scriptArguments, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  clearTimeout(timer);
  return { code, output, errors };
}

import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** The folder that holds package.json. */
export const projectRoot = join(import.meta.dirname, "..", "..");

/**
 * Runs a tool of node_modules in the project's folder, with the Node that runs this process.
 *
 * @param bin path of the tool's start file inside node_modules
 * @returns the tool's exit code; 1 when a signal ended it
 */
export function runTool(bin: string, toolArguments: string[]): number {
  const { status, error } = spawnSync(
    process.execPath,
    [join(projectRoot, "node_modules", bin), ...toolArguments],
    {
      cwd: projectRoot,
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  if (error) throw error;
  return status ?? 1;
}

/** Start file of the linter inside node_modules; its rules are in oxlint.config.ts. */
export const oxlintBin = "oxlint/bin/oxlint";

/** What every run of the linter is given: types are looked at and a warning is a failure. */
export const lintArguments = ["--config", "oxlint.config.ts", "--type-aware", "--deny-warnings"];

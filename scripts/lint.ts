import { lintArguments, oxlintBin } from "./lint/oxlint.ts";
import { runTool } from "./lint/tool.ts";

process.exitCode = runTool(oxlintBin, [...lintArguments, ...process.argv.slice(2)]);

import { lintArguments, oxlintBin, runTool } from "./lint/tool.ts";

process.exitCode = runTool(oxlintBin, [...lintArguments, ...process.argv.slice(2)]);

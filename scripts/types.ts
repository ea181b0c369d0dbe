import { runTool } from "./lint/tool.ts";

process.exitCode = runTool("typescript/bin/tsc", ["--project", "tsconfig.json", ...process.argv.slice(2)]);

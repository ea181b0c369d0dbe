import { runTool } from "./lint/tool.ts";

process.exitCode = runTool("oxfmt/bin/oxfmt", process.argv.slice(2));

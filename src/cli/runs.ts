import { OPERATOR } from "../control/actor.ts";
import { Option } from "commander";
import { rebuildData } from "../control/rebuild.ts";
import { keptRunsText } from "../control/retention.ts";
import { isAbandoned, showRuns } from "../control/runs.ts";
import type { RunFilter } from "../control/runs.ts";
import type { CommandSession, CommandSpec } from "./command.ts";
import { countsText, durationText, stageText } from "../lib/run-text.ts";

export const RUNS: CommandSpec = {
  name: "runs",
  summary: "Show the runs of connected sources, newest first.",
  options: { "--workspace <domain>": "only of this workspace", "--source <name>": "only of this source" },
  otherOptions: [new Option("--limit <number>", "how many").default("20")],
  examples: ["./returns runs", "./returns runs --workspace shop.example --source shopify --limit 5 --json"],
  run: async ({ config, database, terminal }: CommandSession, filter: RunFilter) => {
    const runs = await showRuns(database, filter);
    if (runs.length === 0) {
      const { source } = filter;
      terminal.print([], source === undefined ? "No source has run yet.\n" : `No run of ${source}.\n`);
    } else {
      terminal.printTable(runs, {
        started: "started_at",
        workspace: "shop_domain",
        source: "source",
        kind: "kind",
        by: "requested_by",
        state: ({ attempt, status }) => (attempt === 1 ? status : `${status}, try ${attempt}`),
        took: (run) => durationText(run.duration_seconds),
        read: (run) => (Object.keys(run.counts).length > 0 ? countsText(run.counts) : stageText(run)),
        remarks: ({ error, notes }) => [...(error === null ? [] : [error]), ...notes].join(" ") || null,
      });
    }
    if (await isAbandoned(database, runs)) {
      terminal.hint(
        "No worker is running: runs marked running continue when ./returns worker or serve starts.",
      );
    }
    if (runs.length < Number(filter.limit)) terminal.hint(keptRunsText(config));
  },
};

export const REBUILD: CommandSpec = {
  name: "rebuild",
  summary: "Recompute everything that is served from the stored source data.",
  forWorkspace: true,
  examples: ["./returns rebuild --workspace shop.example"],
  run: async ({ database, terminal, workspace }) => {
    terminal.showStatus("Rebuilding…");
    const rebuilt = await rebuildData(database, OPERATOR, workspace);
    const { shop_domain: domain, data_version: version } = rebuilt;
    terminal.print(rebuilt, `Rebuilt ${domain}; its data version is ${version}.\n`);
  },
};

import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { disconnectSource, rebuild } from "../actions/sources/actions.ts";
import { isAbandoned, showConnections, showRuns } from "../actions/sources/reads.ts";
import type { RunFilter } from "../actions/sources/reads.ts";
import { OPERATOR } from "../actions/actor.ts";
import { Option } from "commander";
import { keptRunsText } from "../lib/retention.ts";
import { requireWorkspace } from "../actions/workspace/workspace.ts";
import { commandOf } from "./action-command.ts";
import type { CommandSession, CommandSpec } from "./command.ts";
import { countsText, durationText, stageText } from "../lib/run-text.ts";

export const RUNS: CommandSpec = {
  name: "runs",
  summary: "Show the runs of connected sources, newest first.",
  options: { "--workspace <domain>": "only of this workspace", "--source <name>": "only of this source" },
  otherOptions: [new Option("--limit <number>", "how many to show").default("20")],
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
  summary: rebuild.about,
  forWorkspace: true,
  examples: ["./returns rebuild --workspace shop.example"],
  run: async ({ database, keys, terminal, workspace }) => {
    terminal.showStatus("Rebuilding…");
    const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
    const { result, done } = await runAction(rebuild, caller, textInput({}));
    terminal.print(result, `${done}\n`);
  },
};

export const DISCONNECT = commandOf(disconnectSource, {
  words: ["source"],
  examples: ["./returns disconnect shopify --workspace shop.example"],
});

export const CONNECTIONS: CommandSpec = {
  name: "connections",
  summary: "Show which sources are connected, in which currency, and how their last sync went.",
  options: { "--workspace <domain>": "of this workspace only" },
  run: async ({ database, terminal }, { workspace: domain }: { workspace?: string }) => {
    const workspace = domain === undefined ? null : await requireWorkspace(database, domain);
    const connections = await showConnections(database, workspace);
    if (connections.length === 0) {
      const holder = domain === undefined ? "" : ` to ${domain}`;
      terminal.print([], `No source is connected${holder}: ./returns connect --help shows how.\n`);
      return;
    }
    terminal.printTable(connections, {
      workspace: "workspace",
      source: "source",
      account: ({ account, url }) => account ?? url,
      currency: "currency_code",
      status: "status",
      "last sync": "last_synced_at",
      "last error": "last_error",
    });
  },
};

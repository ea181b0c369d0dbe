import { Option } from "commander";
import { OPERATOR } from "../control/actor.ts";
import { changeText, showNewestActions } from "../control/audit-trail.ts";
import { keptAuditText } from "../control/retention.ts";
import { readInstant, readInteger } from "../control/input.ts";
import { requireWorkspace } from "../actions/workspace/workspace.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

type AuditOptions = { workspace?: string; since?: string; limit: string };

const MOST_ACTIONS = 10_000;

export const AUDIT: CommandSpec = {
  name: "audit",
  summary: "Show who did what, newest first.",
  options: {
    "--workspace <domain>": "only of this workspace",
    "--since <when>": "only from this day or moment on, in UTC",
  },
  otherOptions: [new Option("--limit <number>", "how many").default("50")],
  examples: [
    "./returns audit --workspace shop.example",
    "./returns audit --since 2026-11-01 --limit 1000 --json",
  ],
  run: async ({ config, database, terminal }: CommandSession, options: AuditOptions) => {
    const limit = readInteger("--limit", options.limit, 1, MOST_ACTIONS);
    const since = options.since === undefined ? null : readInstant("--since", options.since);
    const workspace =
      options.workspace === undefined ? null : await requireWorkspace(database, options.workspace);
    const actions = await showNewestActions(database, OPERATOR, workspace, { since, limit });
    const kept = keptAuditText(config);
    if (kept !== null && actions.length < limit) terminal.hint(kept);
    if (actions.length === 0) {
      terminal.print([], "Nothing was done.\n");
      return;
    }
    terminal.printTable(actions, {
      when: "happened_at",
      workspace: "workspace",
      who: "who",
      what: "what",
      changes: ({ changes }) => changes.map(changeText).join("; ") || null,
      from: "origin",
    });
  },
};

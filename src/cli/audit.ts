import { Option } from "commander";
import { readList } from "../actions/action.ts";
import { auditList, auditListOfAll } from "../actions/audit/audit.ts";
import { requireWorkspace } from "../actions/workspace/workspace.ts";
import { OPERATOR } from "../actions/actor.ts";
import { readInstant, readInteger } from "../actions/input.ts";
import { keptAuditText } from "../lib/retention.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

type AuditOptions = { workspace?: string; since?: string; limit: string };

const MOST_ACTIONS = 10_000;

export const AUDIT: CommandSpec = {
  name: "audit",
  summary: auditList.about,
  options: {
    "--workspace <domain>": "only of this workspace",
    "--since <when>": "only from this day or moment on, in UTC",
  },
  otherOptions: [new Option("--limit <number>", "how many to show").default("50")],
  examples: [
    "./returns audit --workspace shop.example",
    "./returns audit --since 2026-11-01 --limit 1000 --json",
  ],
  run: async ({ config, database, terminal }: CommandSession, options: AuditOptions) => {
    const limit = readInteger("--limit", options.limit, 1, MOST_ACTIONS);
    const since = options.since === undefined ? null : readInstant("--since", options.since);
    const workspace =
      options.workspace === undefined ? null : await requireWorkspace(database, options.workspace);
    const caller = { database, actor: OPERATOR, now: new Date(), since, limit };
    const actions =
      workspace === null
        ? await readList(auditListOfAll, caller)
        : await readList(auditList, { ...caller, workspace });
    const kept = keptAuditText(config);
    if (kept !== null && actions.length < limit) terminal.hint(kept);
    if (actions.length === 0) {
      terminal.print([], "No actions are recorded.\n");
      return;
    }
    terminal.printTable(actions, auditList.columns);
  },
};

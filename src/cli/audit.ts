import { readList } from "../actions/action.ts";
import { auditList, auditListOfAll } from "../actions/audit/audit.ts";
import { requireWorkspace } from "../actions/workspace/workspace.ts";
import { OPERATOR } from "../actions/actor.ts";
import { readInstant, readInteger } from "../actions/input.ts";
import { keptAuditText } from "../lib/retention.ts";
import { hintNextPage, limitOption } from "./action-command.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

type AuditOptions = {
  workspace?: string;
  since?: string;
  who?: string;
  action?: string;
  after?: string;
  limit: string;
};

const MOST_ACTIONS = 10_000;

export const AUDIT: CommandSpec = {
  name: "audit",
  summary: auditList.about,
  options: {
    "--workspace <domain>": "only of this workspace",
    "--since <when>": "only from this day or moment on, in UTC",
    "--who <actor>": "only by this actor, such as operator or user:<id>",
    "--action <name>": "only this action, such as token.create",
    "--after <cursor>": "the page after a row, by the row's cursor",
  },
  otherOptions: [limitOption(50)],
  examples: [
    "./returns audit --workspace shop.example",
    "./returns audit --since 2026-11-01 --limit 1000 --json",
  ],
  run: async ({ config, database, terminal }: CommandSession, options: AuditOptions) => {
    const limit = readInteger("--limit", options.limit, 1, MOST_ACTIONS);
    const since = options.since === undefined ? null : readInstant("--since", options.since);
    const workspace =
      options.workspace === undefined ? null : await requireWorkspace(database, options.workspace);
    const filter = { actor: options.who ?? null, action: options.action ?? null, from: since, to: null };
    const after = options.after ?? null;
    const caller = { database, actor: OPERATOR, now: new Date(), filter, after, limit };
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
    hintNextPage(terminal, actions, limit, ({ cursor }) => cursor);
  },
};

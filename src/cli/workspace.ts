import { resolve } from "node:path";
import { runAction } from "../actions/action.ts";
import { readInput } from "../actions/field.ts";
import {
  changedRules,
  previewRules,
  RULE_NAMES,
  setRules,
  showRules,
  writtenRules,
} from "../actions/workspace/order-rules.ts";
import type { RulesFigures, RulesPreview } from "../actions/workspace/order-rules.ts";
import { OPERATOR } from "../control/actor.ts";
import { askToErase, ERASE_DAYS, takeBackErasure } from "../control/erase.ts";
import { exportIntoFolder } from "../control/export-folder.ts";
import { quoted } from "../control/input.ts";
import { invalid } from "../control/refusal.ts";
import { deleteWorkspace } from "../control/workspace-delete.ts";
import { setWorkspace } from "../actions/workspace/settings.ts";
import { createWorkspace, requireWorkspace, shownWorkspace, showWorkspaces } from "../control/workspace.ts";
import type { WorkspaceToCreate } from "../control/workspace.ts";
import { callerOf, commandOf } from "./action-command.ts";
import { readAssignments } from "./assignments.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

function previewText({ startMonth, endMonth, now, saved, isWhole }: RulesPreview): string {
  const side = ({ returnRate, soldUnits, returnedUnits, leftOutOrders }: RulesFigures): string => {
    const leftOut = Object.values(leftOutOrders).reduce((sum, orders) => sum + orders, 0);
    return `a return rate of ${returnRate}, ${returnedUnits} of ${soldUnits} units, ${leftOut} orders left out`;
  };
  const part = isWhole ? "" : " (of the first 20,000 orders that the rules concern)";
  return `${startMonth} to ${endMonth} have ${side(now)}; with these rules${part} ${side(saved)}.`;
}

async function rules(session: CommandSession, words: string[]): Promise<void> {
  const { terminal, workspace, confirm } = session;
  const caller = callerOf(session);
  const { rules: saved } = await showRules(caller.database, workspace);
  const assigned = readAssignments(words);
  if (assigned.size === 0) return terminal.printFields(writtenRules(saved));
  const unknown = [...assigned.keys()].find((name) => !Object.hasOwn(setRules.input, name));
  if (unknown !== undefined) {
    throw invalid(`${quoted(unknown)} is no rule of orders; the rules are ${RULE_NAMES.join(", ")}.`);
  }
  const given = {
    texts: (name: string) => [assigned.get(name) ?? []].flat(),
    subject: (name: string) => name,
  };
  const wanted = changedRules(readInput(setRules.input, given, caller.now), saved);
  const preview = await previewRules(caller, wanted);
  if (preview !== null) terminal.hint(previewText(preview));
  await confirm(`Save these rules of ${workspace.shop_domain}?`);
  terminal.printFields((await runAction(setRules, caller, given)).result);
  terminal.hint("A worker has the figures follow; ./returns rebuild does it at once.");
}

export const WORKSPACE: CommandGroup = {
  name: "workspace",
  summary: "Workspaces: one store each.",
  commands: [
    {
      name: "create",
      summary: "Create a workspace; it serves answers after its first import.",
      required: {
        "--domain <domain>": "the store's host name, unique in this installation",
        "--currency <code>": "the store's currency (ISO 4217)",
      },
      options: {
        "--plan <plan>": "a plan of `plan list` (default: growth)",
        "--organization <id>": "the organization it belongs to (default: one of its own)",
      },
      examples: ["./returns workspace create --domain shop.example --currency EUR --plan scale"],
      run: async ({ database, terminal }: CommandSession, options: WorkspaceToCreate) => {
        terminal.printFields(await createWorkspace(database, OPERATOR, options));
        terminal.hint("Next: connect its store or import its data, then create a token.");
      },
    },
    {
      name: "list",
      summary: "Show every workspace.",
      run: async ({ database, terminal }) =>
        terminal.printTable(await showWorkspaces(database), {
          domain: "shop_domain",
          currency: "currency_code",
          plan: ({ plan, requested_plan: requested }) =>
            requested === null ? plan : `${plan}, asks for ${requested}`,
          billing: "billing",
          readiness: "readiness",
          "data as of": "data_as_of",
        }),
    },
    {
      name: "show",
      summary: "Show one workspace's settings and state.",
      forWorkspace: true,
      run: async ({ terminal, workspace }) => terminal.printFields(shownWorkspace(workspace)),
    },
    commandOf(setWorkspace, {
      settings: Object.keys(setWorkspace.input),
      examples: [
        "./returns workspace set --workspace shop.example plan=enterprise",
        "./returns workspace set --workspace shop.example primary_window_days=45 min_sold_units=10",
        "./returns workspace set --workspace shop.example billing=inactive readiness=backfilling",
      ],
    }),
    {
      name: "rules",
      summary: "Show which orders count, or change it after showing what that changes.",
      arguments: { "[key=value...]": `rules: ${RULE_NAMES.join(", ")}` },
      forWorkspace: true,
      confirms: true,
      examples: [
        "./returns workspace rules --workspace shop.example",
        "./returns workspace rules --workspace shop.example free_orders=leave_out left_out_tags=wholesale,b2b",
      ],
      run: rules,
    },
    {
      name: "export",
      summary: "Export everything of a workspace into a folder; another installation imports its store.",
      arguments: {
        "<domain>": "the workspace's domain",
        "<folder>": "a folder that does not exist yet, or an empty one",
      },
      examples: ["./returns workspace export shop.example ./shop.example"],
      run: async (session: CommandSession, domain: string, folder: string) => {
        const { config, database, terminal, interruption } = session;
        const exported = await exportIntoFolder({
          database,
          reading: database,
          actor: OPERATOR,
          workspace: await requireWorkspace(database, domain),
          now: new Date(),
          retention: config,
          signal: interruption.signal,
          folder: resolve(folder),
          onFile: (name) => terminal.showStatus(`Writing ${name}…`),
        });
        terminal.print(
          exported,
          `The workspace ${exported.shop_domain} is exported to ${exported.folder}.\n`,
        );
        terminal.hint("Its README.txt says how another installation imports it.");
      },
    },
    {
      name: "erase",
      summary: `Stop serving a workspace and erase it in ${ERASE_DAYS} days, unless \`workspace keep\` cancels that.`,
      arguments: { "<domain>": "the workspace's domain" },
      confirms: true,
      examples: ["./returns workspace erase shop.example"],
      run: async ({ database, terminal, confirm }: CommandSession, domain: string) => {
        const workspace = await requireWorkspace(database, domain);
        await confirm(
          `Nothing of ${workspace.shop_domain} is served from now on. Erase it in ${ERASE_DAYS} days?`,
        );
        const typedDomain = workspace.shop_domain;
        terminal.printFields(
          await askToErase(database, OPERATOR, workspace, { typedDomain, now: new Date() }),
        );
      },
    },
    {
      name: "keep",
      summary: "Cancel the erasure of a workspace: it is served as before.",
      arguments: { "<domain>": "the workspace's domain" },
      examples: ["./returns workspace keep shop.example"],
      run: async ({ database, terminal }: CommandSession, domain: string) =>
        terminal.printFields(
          await takeBackErasure(database, OPERATOR, await requireWorkspace(database, domain)),
        ),
    },
    {
      name: "delete",
      summary: "Delete a workspace with all its data; this cannot be undone.",
      arguments: { "<domain>": "the workspace's domain" },
      confirms: true,
      examples: ["./returns workspace delete shop.example"],
      run: async ({ database, terminal, confirm }: CommandSession, domain: string) => {
        const workspace = await requireWorkspace(database, domain);
        await confirm(
          `All data, tokens, connections and history of ${workspace.shop_domain} are deleted for good. Delete it?`,
        );
        const deleted = await deleteWorkspace(database, OPERATOR, workspace);
        terminal.print(deleted, `The workspace ${deleted.shop_domain} is deleted.\n`);
      },
    },
  ],
};

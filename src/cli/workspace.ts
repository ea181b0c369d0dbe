import { resolve } from "node:path";
import { runAction } from "../actions/action.ts";
import { readInput, type Field } from "../actions/field.ts";
import { quoted } from "../actions/input.ts";
import { invalid } from "../actions/refusal.ts";
import {
  createWorkspace,
  deleteWorkspace,
  eraseWorkspace,
  keepWorkspace,
} from "../actions/workspace/actions.ts";
import { exportIntoFolder, exportWorkspace } from "../actions/workspace/export.ts";
import {
  changedRules,
  previewRules,
  RULE_NAMES,
  setRules,
  showRules,
  writtenRules,
} from "../actions/workspace/order-rules.ts";
import type { RulesFigures, RulesPreview } from "../actions/workspace/order-rules.ts";
import { setReasons, nameWorkspace, setWorkspace } from "../actions/workspace/settings.ts";
import { moveWorkspace } from "../actions/workspace/move.ts";
import { MAP_FORMATS, proxyMap } from "../actions/workspace/proxy-map.ts";
import { shownWorkspace, workspaceList } from "../actions/workspace/workspace.ts";
import { callerOf, commandOf, listCommand, readAssignments } from "./action-command.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

function previewText({ startMonth, endMonth, now, saved, isWhole }: RulesPreview): string {
  const side = ({ returnRate, soldUnits, returnedUnits, leftOutOrders }: RulesFigures): string => {
    const leftOut = Object.values(leftOutOrders).reduce((sum, orders) => sum + orders, 0);
    return `${returnRate} (${returnedUnits} of ${soldUnits} units), orders left out: ${leftOut}`;
  };
  const part = isWhole ? "" : " (of the first 20,000 affected orders)";
  return `Return rate of ${startMonth} to ${endMonth}: ${side(now)}. With these rules${part}: ${side(saved)}.`;
}

/** The rules with the values that each may have. */
const RULE_FORMS = Object.entries<Field<unknown>>(setRules.input).map(
  ([name, { choices }]) => `${name}=${choices?.map(([value]) => value).join("|") ?? "<text>,…"}`,
);

async function rules(session: CommandSession, words: string[]): Promise<void> {
  const { terminal, workspace, confirm } = session;
  const caller = callerOf(session);
  const { rules: saved } = await showRules(caller.database, workspace);
  const assigned = readAssignments(words);
  if (assigned.size === 0) return terminal.printFields(writtenRules(saved));
  const unknown = [...assigned.keys()].find((name) => !Object.hasOwn(setRules.input, name));
  if (unknown !== undefined) {
    throw invalid(`${quoted(unknown)} is not an order rule; the rules are ${RULE_NAMES.join(", ")}.`);
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
  terminal.hint("A worker updates the figures; ./returns rebuild does so at once.");
}

export const WORKSPACE: CommandGroup = {
  name: "workspace",
  summary: "Workspaces: one store each.",
  commands: [
    commandOf(createWorkspace, {
      examples: ["./returns workspace create --domain shop.example --currency EUR --plan scale"],
    }),
    listCommand(workspaceList, {
      examples: ["./returns workspace list --search shoes --readiness reconnecting"],
    }),
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
    commandOf(nameWorkspace, {
      examples: ['./returns workspace name --workspace shop.example --display-name "Lamp shop"'],
    }),
    {
      name: "rules",
      summary: "Show which orders count, or change the rules after a preview.",
      arguments: { "[key=value...]": `rules: ${RULE_FORMS.join(", ")}` },
      forWorkspace: true,
      confirms: true,
      examples: [
        "./returns workspace rules --workspace shop.example",
        "./returns workspace rules --workspace shop.example free_orders=leave_out left_out_tags=wholesale,b2b",
      ],
      run: rules,
    },
    commandOf(setReasons, {
      name: "reasons",
      examples: [
        './returns workspace reasons --workspace shop.example --reason "zu eng=too_small" --reason "kaputt=damaged"',
      ],
    }),
    {
      name: "export",
      summary: exportWorkspace.about,
      forWorkspace: "word",
      arguments: { "<folder>": "a folder that does not exist yet, or an empty one" },
      examples: ["./returns workspace export shop.example ./shop.example"],
      run: async (session: CommandSession, folder: string) => {
        const { config, database, terminal, interruption } = session;
        const exported = await exportIntoFolder({
          ...callerOf(session),
          reading: database,
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
    commandOf(moveWorkspace, {
      forWorkspace: "word",
      files: { to: "a file with that address" },
      examples: [
        "./returns workspace move shop.example --to-file ./second-database-url",
        "./returns workspace move shop.example --to-file ./second-database-url --cancel",
      ],
      also: (terminal, { known_people: known, people_to_invite: invited }) => {
        for (const { name, user_id: id } of known) terminal.hint(`${name} (${id}) is known there.`);
        for (const { name, user_id: id } of invited) {
          terminal.hint(
            `${name} (${id}) is new there and needs a link: run ./returns user link --name ${id} there.`,
          );
        }
      },
    }),
    {
      name: "map",
      summary: "Print which tokens a proxy passes to this installation (docs/scaling.md).",
      arguments: {
        "<format>": MAP_FORMATS.join(" or "),
        "<address>": "where the proxy reaches this installation",
      },
      options: {
        "--range": "those of SHOP_KEY_RANGE, in place of those of workspaces that moved here",
      },
      examples: [
        "./returns workspace map nginx 10.0.0.2:8080",
        "./returns workspace map caddy 10.0.0.2:8080 --range",
      ],
      run: async ({ database, terminal }, format: string, address: string, options: { range?: true }) => {
        const map = await proxyMap(database, { format, address, ofRange: options.range === true });
        terminal.print(map, map.lines.map((line) => `${line}\n`).join(""));
      },
    },
    commandOf(eraseWorkspace, {
      forWorkspace: "word",
      examples: ["./returns workspace erase shop.example"],
    }),
    commandOf(keepWorkspace, { forWorkspace: "word", examples: ["./returns workspace keep shop.example"] }),
    commandOf(deleteWorkspace, {
      forWorkspace: "word",
      examples: ["./returns workspace delete shop.example"],
    }),
  ],
};

import { OPERATOR } from "../control/actor.ts";
import { showWatched, unwatch, watch, WATCHED_TYPES } from "../control/watchlist.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

const ENTITY = {
  "<type>": WATCHED_TYPES.join(", "),
  "<key>": "the SKU, product gid, family or category",
};

export const WATCH: CommandGroup = {
  name: "watch",
  summary: "The watchlist: entities whose return rate is watched for spikes.",
  examples: [
    "./returns watch add sku LAMP-01 --workspace shop.example",
    "./returns watch add family Lighting --workspace shop.example",
  ],
  commands: [
    {
      name: "add",
      summary: "Watch an entity.",
      arguments: ENTITY,
      forWorkspace: true,
      run: async ({ database, terminal, workspace }: CommandSession, type: string, key: string) => {
        const result = await watch(database, OPERATOR, workspace, type, key);
        terminal.print(result, `The ${type} ${key} is ${result.changed ? "watched" : "watched already"}.\n`);
      },
    },
    {
      name: "remove",
      summary: "Stop watching an entity.",
      arguments: ENTITY,
      forWorkspace: true,
      run: async ({ database, terminal, workspace }: CommandSession, type: string, key: string) => {
        const result = await unwatch(database, OPERATOR, workspace, type, key);
        const state = result.changed ? "not watched any more" : "not watched";
        terminal.print(result, `The ${type} ${key} is ${state}.\n`);
      },
    },
    {
      name: "list",
      summary: "Show what is watched.",
      forWorkspace: true,
      run: async ({ database, terminal, workspace }) => {
        const watched = await showWatched(database, workspace);
        terminal.printTable(watched, { type: "type", key: "key", added: "added_at" });
      },
    },
  ],
};

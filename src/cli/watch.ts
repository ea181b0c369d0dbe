import { addWatched, removeWatched, watchedList } from "../actions/watchlist/actions.ts";
import { commandOf, listCommand } from "./action-command.ts";
import type { CommandGroup } from "./command.ts";

const words = ["type", "key"] as const;

export const WATCH: CommandGroup = {
  name: "watch",
  summary: "The watchlist: entities whose return rate is watched for spikes.",
  examples: [
    "./returns watch add sku LAMP-01 --workspace shop.example",
    "./returns watch add family Lighting --workspace shop.example",
  ],
  commands: [commandOf(addWatched, { words }), commandOf(removeWatched, { words }), listCommand(watchedList)],
};

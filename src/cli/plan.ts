import { planList, setPlan } from "../actions/plan/actions.ts";
import { commandOf, listCommand } from "./action-command.ts";
import type { CommandGroup } from "./command.ts";

export const PLAN: CommandGroup = {
  name: "plan",
  summary: "Plans: what a workspace may use, and how many requests a day.",
  commands: [
    listCommand(planList),
    commandOf(setPlan, {
      words: ["plan"],
      settings: ["daily_quota", "entitlements"],
      examples: [
        "./returns plan set growth daily_quota=5000",
        "./returns plan set partner daily_quota=unlimited entitlements=api_access,data_export",
      ],
    }),
  ],
};

import { OPERATOR } from "../control/actor.ts";
import { setPlan, showPlans } from "../control/plan.ts";
import { readAssignments } from "./assignments.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

type Plan = { plan: string; daily_quota: number | null; entitlements: readonly string[] };

const COLUMNS = {
  plan: "plan",
  "requests a day": ({ daily_quota: quota }: Plan) => quota ?? "unlimited",
  entitlements: "entitlements",
} as const;

export const PLAN: CommandGroup = {
  name: "plan",
  summary: "Plans: what a workspace may use, and how many requests a day.",
  commands: [
    {
      name: "list",
      summary: "Show every plan.",
      run: async ({ database, terminal }) => terminal.printTable(await showPlans(database), COLUMNS),
    },
    {
      name: "set",
      summary: "Create or change a plan; it applies from the next request.",
      arguments: {
        "<plan>": "the plan's key",
        "[key=value...]": "daily_quota=<number>|unlimited, entitlements=<list>",
      },
      examples: [
        "./returns plan set growth daily_quota=5000",
        "./returns plan set partner daily_quota=unlimited entitlements=api_access,data_export",
      ],
      run: async ({ database, terminal }: CommandSession, planKey: string, words: string[]) => {
        const plan = await setPlan(database, OPERATOR, planKey, readAssignments(words));
        terminal.printTable([plan], COLUMNS, plan);
      },
    },
  ],
};

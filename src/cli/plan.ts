import type { Command } from "commander";
import { setPlan, showPlans } from "../control/plan.ts";
import { formatTable } from "../lib/table.ts";
import type { TextStyle } from "../lib/table.ts";
import { readAssignments } from "./assignments.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

type Plan = { plan: string; daily_quota: number | null; entitlements: readonly string[] };

export function addPlanCommands(program: Command, context: CommandContext): void {
  const group = program
    .command("plan")
    .description("Plans: what a workspace may use, and how many requests a day.");
  group
    .command("list")
    .description("Show every plan.")
    .action((_options: unknown, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const plans = await showPlans(database);
        terminal.print(plans, planTable(plans, terminal.style));
      }),
    );
  group
    .command("set")
    .description("Create or change a plan; it applies from the next request.")
    .argument("<plan>", "the plan's key")
    .argument("[key=value...]", "daily_quota=<number>|unlimited, entitlements=<list>")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns plan set growth daily_quota=5000\n" +
        "  ./returns plan set partner daily_quota=unlimited entitlements=api_access,data_export\n",
    )
    .action((planKey: string, words: string[], _options: unknown, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const plan = await setPlan(database, planKey, readAssignments(words));
        terminal.print(plan, planTable([plan], terminal.style));
      }),
    );
}

function planTable(plans: readonly Plan[], style: TextStyle): string {
  const rows = plans.map(({ plan, daily_quota: quota, entitlements }) => [
    plan,
    quota ?? "unlimited",
    entitlements,
  ]);
  return formatTable(["plan", "requests a day", "entitlements"], rows, style);
}

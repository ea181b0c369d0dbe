import type { Command } from "commander";
import { diagnose } from "../control/doctor.ts";
import type { Diagnosis, WorkspaceDiagnosis } from "../control/doctor.ts";
import { formatTable } from "../lib/table.ts";
import { inUnmigratedSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command("doctor")
    .description("Look at the database, the schema, the secrets and every workspace; changes nothing.")
    .addHelpText("before", "Examples:\n  ./returns doctor\n  ./returns doctor --json\n")
    .action((_options: unknown, command: Command) =>
      inUnmigratedSession(context, command, async ({ database, installation, terminal }) => {
        const { dataFolder, isEmbedded, keys } = installation;
        const patient = { database, dataFolder, isEmbedded, tokenPepper: keys.tokenPepper };
        const diagnosis = await diagnose(patient);
        terminal.print(diagnosis, textOf(diagnosis));
        if (!diagnosis.ok) process.exitCode = 1;
      }),
    );
}

function textOf(diagnosis: Diagnosis): string {
  const checks = diagnosis.checks.map((check) => [check.ok ? "ok" : "PROBLEM", check.name, check.message]);
  const text = formatTable(["state", "check", "found"], checks);
  if (diagnosis.workspaces.length === 0) return text;
  const workspaces = diagnosis.workspaces.map((row) => [
    row.shop_domain,
    row.readiness,
    row.billing,
    row.data_as_of,
    row.sources.map((source) => `${source.source}: ${source.status ?? "never run"}`),
    row.last_import_at,
    `${row.requests_today} of ${quotaText(row)}`,
  ]);
  const headings = [
    "workspace",
    "readiness",
    "billing",
    "data as of",
    "sources",
    "last import",
    "requests today",
  ];
  const problems = diagnosis.workspaces.flatMap((row) =>
    row.problems.map((problem) => `${row.shop_domain}: ${problem}.\n`),
  );
  return `${text}\n${formatTable(headings, workspaces)}${problems.length > 0 ? "\n" : ""}${problems.join("")}`;
}

function quotaText(row: WorkspaceDiagnosis): string {
  if (!row.is_plan_known) return "0";
  return row.daily_quota === null ? "unlimited" : String(row.daily_quota);
}

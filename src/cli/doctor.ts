import type { Command } from "commander";
import { diagnose } from "../control/doctor.ts";
import type { Diagnosis, WorkspaceDiagnosis } from "../control/doctor.ts";
import { formatTable } from "../lib/table.ts";
import type { TextStyle } from "../lib/table.ts";
import { inUnmigratedSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command("doctor")
    .description(
      "Check the database, the schema, the secrets, every workspace and connection; changes nothing.",
    )
    .addHelpText("before", "Examples:\n  ./returns doctor\n  ./returns doctor --json\n")
    .action((_options: unknown, command: Command) =>
      inUnmigratedSession(context, command, async ({ database, installation, terminal }) => {
        const { dataFolder, embedded, keys } = installation;
        const patient = {
          database,
          dataFolder,
          isEmbedded: embedded !== null,
          tokenPepper: keys.tokenPepper,
        };
        const diagnosis = await diagnose(patient);
        terminal.print(diagnosis, textOf(diagnosis, terminal.style));
        if (!diagnosis.ok) process.exitCode = 1;
      }),
    );
}

function textOf(diagnosis: Diagnosis, style: TextStyle): string {
  const checks = diagnosis.checks.map((check) => [check.ok ? "ok" : "PROBLEM", check.name, check.message]);
  const text = formatTable(["state", "check", "found"], checks, style);
  if (diagnosis.workspaces.length === 0) return text;
  const workspaces = diagnosis.workspaces.map((row) => [
    row.shop_domain,
    row.readiness,
    row.billing,
    row.data_as_of,
    row.sources.map((source) => `${source.source}: ${source.status ?? "never run"}`).join(", ") || null,
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
  const problems = [...diagnosis.workspaces, ...diagnosis.connections].flatMap((row) =>
    row.problems.map((problem) => `${row.shop_domain}: ${problem}.\n`),
  );
  const tables = [
    text,
    formatTable(headings, workspaces, style),
    connectionTable(diagnosis, style),
    problems.join(""),
  ];
  return tables.filter((table) => table !== "").join("\n");
}

function connectionTable({ connections }: Diagnosis, style: TextStyle): string {
  if (connections.length === 0) return "";
  const rows = connections.map((row) => [
    row.shop_domain,
    row.source,
    row.status ?? "never run",
    row.last_synced_at,
    row.last_run === null ? null : `${row.last_run.kind} ${row.last_run.status}`,
    row.last_run === null ? null : new Date(row.last_run.started_at),
    row.waiting.map((request) => request.kind),
  ]);
  return formatTable(
    ["workspace", "connection", "state", "last synced", "last run", "begun at", "waiting"],
    rows,
    style,
  );
}

function quotaText(row: WorkspaceDiagnosis): string {
  if (!row.is_plan_known) return "0";
  return row.daily_quota === null ? "unlimited" : String(row.daily_quota);
}

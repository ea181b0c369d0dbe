import { diagnose } from "../operations/doctor.ts";
import type { Check, Diagnosis, WorkspaceDiagnosis } from "../operations/doctor.ts";
import type { Config } from "../config.ts";
import { formatRows } from "../lib/table.ts";
import type { TextStyle } from "../lib/table.ts";
import type { CommandSpec } from "./command.ts";

export const DOCTOR: CommandSpec = {
  name: "doctor",
  summary: "Check the database, the schema, the secrets, every workspace and connection; changes nothing.",
  takesAnySchema: true,
  examples: ["./returns doctor", "./returns doctor --json"],
  run: async ({ config, database, installation, terminal }) => {
    const { dataFolder, embedded, secret } = installation;
    const diagnosis = await diagnose({
      database,
      dataFolder,
      isEmbedded: embedded !== null,
      secret,
      operationsAddress: operationsAddressOf(config),
      retention: config,
    });
    terminal.print(diagnosis, textOf(diagnosis, terminal.style));
    if (!diagnosis.ok) process.exitCode = 1;
  },
};

function stateOf({ ok, alert }: Check): string {
  if (!ok) return "PROBLEM";
  return alert === null ? "ok" : "warning";
}

/** Where a service with the same options answers its operators on this machine. */
function operationsAddressOf({ operationsHost, operationsPort }: Config): string | null {
  if (operationsPort === null) return null;
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[operationsHost] ?? operationsHost;
  return `http://${host.includes(":") ? `[${host}]` : host}:${operationsPort}`;
}

function textOf({ checks, workspaces, connections }: Diagnosis, style: TextStyle): string {
  const text = formatRows(
    checks,
    {
      state: stateOf,
      check: "name",
      found: ({ message, alert }) => (alert === null ? message : `${message} (${alert})`),
    },
    style,
  );
  if (workspaces.length === 0) return text;
  const problems = [...workspaces, ...connections].flatMap((row) =>
    row.problems.map((problem) => `${row.shop_domain}: ${problem}.\n`),
  );
  const requests = workspaces.flatMap((row) =>
    row.requested_plan === null
      ? []
      : [
          `${row.shop_domain}: its owner asks for the plan ${row.requested_plan}: ${row.plan_request_reason}\n`,
        ],
  );
  const tables = [
    text,
    workspaceTable(workspaces, style),
    connections.length === 0 ? "" : connectionTable(connections, style),
    problems.join(""),
    requests.join(""),
  ];
  return tables.filter((table) => table !== "").join("\n");
}

function workspaceTable(workspaces: Diagnosis["workspaces"], style: TextStyle): string {
  return formatRows(
    workspaces,
    {
      workspace: "shop_domain",
      readiness: "readiness",
      billing: "billing",
      "data as of": "data_as_of",
      sources: ({ sources }) =>
        sources.map(({ source, status }) => `${source}: ${status ?? "never run"}`).join(", ") || null,
      "last import": "last_import_at",
      "requests today": (row) => `${row.requests_today} of ${quotaText(row)}`,
    },
    style,
  );
}

function connectionTable(connections: Diagnosis["connections"], style: TextStyle): string {
  return formatRows(
    connections,
    {
      workspace: "shop_domain",
      connection: "source",
      state: ({ status }) => status ?? "never run",
      "last synced": "last_synced_at",
      "last run": ({ last_run: run }) => run && `${run.kind} ${run.status}`,
      "begun at": ({ last_run: run }) => run && new Date(run.started_at),
      waiting: ({ waiting }) => waiting.map(({ kind }) => kind),
    },
    style,
  );
}

function quotaText(row: WorkspaceDiagnosis): string {
  if (!row.is_plan_known) return "0";
  return row.daily_quota === null ? "unlimited" : String(row.daily_quota);
}

import { diagnose, type Check, type Diagnosis } from "../operations/doctor.ts";
import type { Config } from "../config.ts";
import { formatRows, type TextStyle } from "../lib/table.ts";
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
      hasPlans: config.shopifyPlans.length > 0,
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

/** Counts and the first problems; `workspace list`, `connections` and `runs` show the rest. */
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
  if (workspaces.total === 0) return text;
  const problems = [...connections.first, ...workspaces.first].flatMap((row) =>
    row.problems.map((problem) => `${row.shop_domain}: ${problem}.\n`),
  );
  const requests = workspaces.first.flatMap((row) =>
    row.requested_plan === null
      ? []
      : [
          `${row.shop_domain}: its owner asks for the plan ${row.requested_plan}: ${row.plan_request_reason}\n`,
        ],
  );
  const parts = [
    text,
    `${countText(workspaces, "workspace")}; ${countText(connections, "connection")}.\n`,
    problems.slice(0, MOST_LINES).join(""),
    requests.join(""),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** Of problems, so that the output fits on a screen. */
const MOST_LINES = 20;

function countText(
  { total, with_problems: problems }: { total: number; with_problems: number },
  noun: string,
): string {
  const count = `${total.toLocaleString("en")} ${noun}${total === 1 ? "" : "s"}`;
  if (problems === 0) return `${count}, none with problems`;
  return `${count}, ${problems.toLocaleString("en")} with problems`;
}

import { Option } from "commander";
import type { Command } from "commander";
import { COMMAND_OPTIONS } from "../config.ts";
import { isPaged, listParameters } from "../contract/endpoint.ts";
import type { Endpoint, Parameter } from "../contract/endpoint.ts";
import { exportReport } from "../contract/export-report.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { queryOption } from "../contract/written-request.ts";
import { invalid } from "../actions/refusal.ts";
import { listenForInterruption } from "./interruption.ts";
import { copyExport, printAnswer } from "./query-answer.ts";
import { connect, queryFailure } from "./query-connection.ts";
import type { ConnectionOptions } from "./query-connection.ts";
import { terminalOf } from "./session.ts";
import type { CommandContext } from "./session.ts";

type QueryOptions = ConnectionOptions & { csv?: boolean; all?: boolean } & Record<string, unknown>;

const { url, token } = COMMAND_OPTIONS;
const LONGEST_STOP_MS = 1_000;

const EXAMPLES = `Examples:
  export RETURNS_TOKEN=rta_live_…
  ./returns query entities --q lamp --limit 5
  ./returns query summary --sku LAMP-01 --start-month 2026-01 --end-month 2026-06 --window 90d
  ./returns query return-rate-leaderboard --period month --json
  ./returns query alerts --all --csv > alerts.csv
  ./returns query export-report --start-month 2026-01 --end-month 2026-06 > report.csv
`;

/** One command for every endpoint of the contract: they ask a running service over HTTP. */
export function addQueryCommands(program: Command, context: CommandContext): void {
  const group = program
    .command("query")
    .description("Send a request to a running service, with a token.")
    .addHelpText("before", EXAMPLES)
    .addHelpText(
      "after",
      `\nOptions of the environment: ${url.name}, ${token.name}, ${token.name}_FILE.\nEvery request counts against the daily quota.\n`,
    );
  for (const endpoint of ENDPOINTS) addEndpoint(group, context, endpoint);
}

function addEndpoint(group: Command, context: CommandContext, endpoint: Endpoint): void {
  const command = group
    .command(endpoint.name)
    .description(`${endpoint.summary} (${endpoint.scope}).`)
    .option("--url <address>", `where the service lies (default: ${url.name} or ${url.fallback})`)
    .option("--allow-plain-http", "send the token unencrypted to another machine")
    .option("--token-file <file>", `file that holds the token (default: ${token.name})`)
    .addOption(new Option("--token <->", "- reads the token from standard input"));
  for (const parameter of listParameters(endpoint.parameters)) command.addOption(optionOf(parameter));
  const isReport = endpoint.name === "report";
  command.option("--csv", isReport ? "print CSV, as export-report does (read:exports)" : "print CSV");
  if (isPaged(endpoint)) command.option("--all", "follow the cursors to the last page");
  command.action((options: QueryOptions) => query(context, command, endpoint, options));
}

function optionOf({ name, schema, isRequired }: Parameter): Option {
  const { type, enum: values, description = "", default: fallback } = schema;
  const kind = type === "integer" || type === "number" ? "number" : "text";
  const isFlag = type === "boolean";
  const option = new Option(
    isFlag ? queryOption(name) : `${queryOption(name)} <${kind}>`,
    isFlag || fallback === undefined ? description : `${description} (default: ${fallback})`,
  );
  if (values !== undefined) option.choices(values);
  if (description.startsWith("Alias of ")) option.hideHelp();
  return option.makeOptionMandatory(isRequired);
}

async function query(
  context: CommandContext,
  command: Command,
  endpoint: Endpoint,
  options: QueryOptions,
): Promise<void> {
  const terminal = terminalOf(context, command);
  if (terminal.isJson && endpoint.response === null) {
    throw invalid('export-report answers CSV; the same figures as JSON are "query report --json".');
  }
  if (terminal.isJson && options.csv === true) throw invalid("Give --json or --csv, not both.");
  const asked = endpointFor(endpoint, options);
  const client = await connect(options, context);
  const interruption = listenForInterruption(() => {}, LONGEST_STOP_MS);
  const parameters = parametersOf(asked, options);
  const ask = { endpoint: asked, parameters, signal: interruption.signal };
  try {
    if (asked.response === null) await copyExport(client, ask);
    else {
      const wanted = { terminal, isAll: options.all === true, isCsv: options.csv === true };
      await printAnswer(client, ask, wanted);
    }
  } catch (error) {
    throw queryFailure(error);
  } finally {
    interruption.end();
  }
}

/** A report has no single list of rows: its CSV is the file of the export. */
function endpointFor(endpoint: Endpoint, options: QueryOptions): Endpoint {
  if (endpoint.name !== "report" || options.csv !== true) return endpoint;
  if (options["reportSection"] !== undefined)
    throw invalid("--csv prints the whole report: leave out --report-section.");
  return exportReport;
}

function parametersOf({ parameters }: Endpoint, options: QueryOptions): Record<string, unknown> {
  return Object.fromEntries(listParameters(parameters).map(({ name }) => [name, options[optionName(name)]]));
}

/** As commander names the value of an option. */
function optionName(parameterName: string): string {
  return new Option(queryOption(parameterName)).attributeName();
}

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { Option, type Command } from "commander";
import { impossible, invalid } from "../actions/refusal.ts";
import { createClient, iteratePages, type ReturnsClient } from "../client/client.ts";
import { ReturnsNetworkError } from "../client/errors.ts";
import type { FileExport, RequestOptions, Result } from "../client/result.ts";
import { COMMAND_OPTIONS } from "../config.ts";
import { camelCase, isPaged, listParameters, type Endpoint, type Parameter } from "../contract/endpoint.ts";
import { exportReport } from "../contract/export-report.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { queryOption } from "../contract/written-request.ts";
import { dataText, rowsCsv } from "./query-output.ts";
import { terminalOf, withTools, type CommandContext } from "./session.ts";
import type { Terminal } from "./terminal.ts";

type QueryOptions = ConnectionOptions & { csv?: boolean; all?: boolean } & Record<string, unknown>;

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
      `\nEnvironment variables: ${COMMAND_OPTIONS.url.name}, ${COMMAND_OPTIONS.token.name}, ${COMMAND_OPTIONS.token.name}_FILE.\nEvery request counts against the daily quota.\n`,
    );
  for (const endpoint of ENDPOINTS) addEndpoint(group, context, endpoint);
}

function addEndpoint(group: Command, context: CommandContext, endpoint: Endpoint): void {
  const command = withConnection(
    group.command(endpoint.name).description(`${endpoint.summary} (${endpoint.scope}).`),
  );
  const parameters = listParameters(endpoint.parameters);
  for (const parameter of parameters) command.addOption(optionOf(parameter, parameters));
  const isReport = endpoint.name === "report";
  if (endpoint.fileTypes === undefined)
    command.option("--csv", isReport ? "print CSV, as export-report does (read:exports)" : "print CSV");
  if (isPaged(endpoint)) command.option("--all", "follow the cursors to the last page");
  command.action((options: QueryOptions) => query(context, command, endpoint, options));
}

/** The options of every command that sends requests to a running service. */
export function withConnection(command: Command): Command {
  return command
    .option(
      "--url <address>",
      `address of the service (default: ${COMMAND_OPTIONS.url.name} or ${COMMAND_OPTIONS.url.fallback})`,
    )
    .option("--allow-plain-http", "send the token unencrypted to another machine")
    .option("--token-file <file>", `file that holds the token (default: ${COMMAND_OPTIONS.token.name})`)
    .addOption(new Option("--token <->", "- reads the token from standard input"));
}

/** A parameter as an option; `all`: those of its endpoint, which its description names. */
export function optionOf({ name, schema, isRequired }: Parameter, all: readonly Parameter[]): Option {
  const { type, enum: values, default: fallback } = schema;
  const description = inOptions(schema.description ?? "", all);
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

/** A sentence with its names of parameters as options; a single word, such as window, is none there. */
function inOptions(sentence: string, parameters: readonly Parameter[]): string {
  const names = parameters.map(({ name }) => name).filter((name) => /[_A-Z]/u.test(name));
  const options = new Map(names.map((name) => [name, queryOption(name)]));
  return sentence.replaceAll(/\w+/gu, (word) => options.get(word) ?? word);
}

async function query(
  context: CommandContext,
  command: Command,
  endpoint: Endpoint,
  options: QueryOptions,
): Promise<void> {
  const terminal = terminalOf(context, command);
  if (terminal.isJson && endpoint.response === null) {
    throw invalid(
      endpoint === exportReport
        ? 'export-report answers CSV; the same figures as JSON are "query report --json".'
        : `${endpoint.name} returns a file, not JSON.`,
    );
  }
  if (terminal.isJson && options.csv === true) throw invalid("Give --json or --csv, not both.");
  const asked = endpointFor(endpoint, options);
  const client = await connect(options, context);
  await withTools(context, command, { isBrief: true }, async ({ interruption }) => {
    const parameters = parametersOf(asked, options);
    const ask = { endpoint: asked, parameters, signal: interruption.signal };
    const wanted = { terminal, isAll: options.all === true, isCsv: options.csv === true };
    const answered = asked.response === null ? copyExport(client, ask) : printAnswer(client, ask, wanted);
    await answered.catch(throwQueryFailure);
  });
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

/** One request as the command line describes it; only the service validates values. */
type Ask = { endpoint: Endpoint; parameters: Record<string, unknown>; signal: AbortSignal };

type Meta = {
  returned?: number;
  next_cursor?: string | null;
  start_month?: string;
  end_month?: string;
  months_included?: number;
  excluded_months?: string[];
  complete_through?: string | null;
  /** Answers of figures have one. */
  data_as_of?: string | null;
  freshness: { data_updated_at: string | null } | null;
};
type Answer = Result<unknown, Meta>;
type Method = (parameters: Record<string, unknown>, options?: RequestOptions) => Promise<Answer>;

/** Asks and prints: a table for people, or the body as JSON, or the rows as CSV. */
async function printAnswer(
  client: ReturnsClient,
  ask: Ask,
  { terminal, isAll, isCsv }: { terminal: Terminal; isAll: boolean; isCsv: boolean },
): Promise<void> {
  const { endpoint, parameters, signal } = ask;
  // Methods are named as in the contract, like the options.
  const method = (client as unknown as Record<string, Method>)[camelCase(endpoint.name)] as Method;
  const answer = isAll ? await askAll(method, ask, terminal) : await method(parameters, { signal });
  const { data, meta } = answer;
  const columns = columnsOf(endpoint, parameters);
  if (isCsv) process.stdout.write(rowsCsv(data, columns));
  else terminal.print({ data, meta }, dataText(data, columns, terminal.style));
  if (typeof meta.next_cursor === "string") {
    terminal.hint(`There are more rows: --all prints them, --cursor ${meta.next_cursor} the next page.`);
  }
  if (isCsv) return;
  const months = monthsLine(meta);
  if (months !== null) terminal.hint(months);
  terminal.hint(statusLine(answer));
}

type DataSchema = { properties?: Record<string, DataSchema>; items?: DataSchema; required?: string[] };

/** The members of a row of its list, or of its data when that is one thing, which an answer with these `fields` has. */
function columnsOf({ parameters, response }: Endpoint, asked: Record<string, unknown>): string[] {
  const { data } = (response as { properties: { data: DataSchema } } | null)?.properties ?? { data: {} };
  const row = data.items ?? data.properties?.["rows"]?.items ?? data;
  const ofFields = listParameters(parameters).find(({ name }) => name === "fields");
  const isShort = (asked["fields"] ?? ofFields?.schema.default) === "required";
  return isShort ? (row.required ?? []) : Object.keys(row.properties ?? {});
}

type FileMethod = (parameters: object, options?: RequestOptions) => Promise<FileExport>;

/** Copies a file to standard output while it arrives. */
async function copyExport(client: ReturnsClient, { endpoint, parameters, signal }: Ask): Promise<void> {
  const method = (client as unknown as Record<string, FileMethod>)[camelCase(endpoint.name)] as FileMethod;
  const { stream } = await method(parameters, { signal });
  for await (const piece of stream) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
}

/** All pages as one answer; pages have the maximum size, because each counts against the quota. */
async function askAll(
  method: Method,
  { endpoint, parameters, signal }: Ask,
  terminal: Terminal,
): Promise<Answer> {
  const limit =
    parameters["limit"] ??
    listParameters(endpoint.parameters).find(({ name }) => name === "limit")?.schema.maximum;
  const pages = method as (
    parameters: Record<string, unknown>,
    options?: RequestOptions,
  ) => Promise<Result<unknown[], Meta & { next_cursor: string | null }>>;
  const rows: unknown[] = [];
  let last: Answer | undefined;
  for await (const page of iteratePages(pages, { ...parameters, limit }, { signal })) {
    rows.push(...page.data);
    last = page;
    terminal.showStatus(`${rows.length.toLocaleString("en")} rows`);
  }
  terminal.showStatus("");
  const { meta, ...rest } = last as Answer;
  return { ...rest, data: rows, meta: { ...meta, returned: rows.length } };
}

/** Rows alone do not show which months are counted; null if the answer's data does. */
function monthsLine(meta: Meta): string | null {
  const { start_month: start, end_month: end, months_included: included, excluded_months: excluded } = meta;
  if (included === undefined) return null;
  const range = start === undefined ? "Order months" : `Order months ${start} to ${end}`;
  const through =
    typeof meta.complete_through === "string" ? `; complete through ${meta.complete_through}` : "";
  return `${range}: ${included} counted, ${excluded?.length ?? 0} left out as incomplete${through}.`;
}

function statusLine({ meta, quota }: Answer): string {
  const asOf = meta.data_as_of ?? meta.freshness?.data_updated_at ?? null;
  const age = asOf === null ? "The age of the data is not known" : `Data as of ${asOf}`;
  if (quota === null) return `${age}.`;
  const left = quota.remaining.toLocaleString("en");
  return `${age}; ${left} of ${quota.limit.toLocaleString("en")} requests left until ${quota.resetsAt.toISOString()}.`;
}

/** Where to ask, and as whom. */
export type ConnectionOptions = {
  url?: string;
  token?: string;
  tokenFile?: string;
  allowPlainHttp?: boolean;
};

/** A client as the options and the environment say. Throws a `Refusal`. */
export async function connect(
  options: ConnectionOptions,
  { environment }: CommandContext,
): Promise<ReturnsClient> {
  const baseUrl = options.url ?? (environment[COMMAND_OPTIONS.url.name] || COMMAND_OPTIONS.url.fallback);
  const token = await readToken(options, environment);
  try {
    return createClient({ baseUrl, token, allowPlainHttp: options.allowPlainHttp });
  } catch (error) {
    throw invalid(
      (error as Error).message
        .replace("baseUrl", "--url")
        .replace(/^token/u, "The token")
        .replace("allowPlainHttp", "--allow-plain-http"),
    );
  }
}

/** Explains a request without an answer to a person at a terminal; other errors are unchanged. */
export function throwQueryFailure(error: unknown): never {
  if (!(error instanceof ReturnsNetworkError)) throw error;
  if (error.reason === "unreadable_answer")
    throw impossible("The server at this address is not a Returns Analytics API: check --url.");
  const sentence = error.message.replace(/\.?$/u, "");
  throw impossible(`${sentence}: is the service running there? --url gives another address.`);
}

async function readToken(
  { token, tokenFile }: ConnectionOptions,
  environment: CommandContext["environment"],
): Promise<string> {
  if (token !== undefined && tokenFile !== undefined)
    throw invalid("Give --token - or --token-file, not both.");
  if (token !== undefined && token !== "-") {
    throw invalid(
      "Other users can read a command line: give the token with --token-file, in RETURNS_TOKEN, or with --token - on standard input.",
    );
  }
  if (tokenFile !== undefined) return readTokenFile("--token-file", tokenFile);
  if (token === "-") return (await text(process.stdin)).trim();
  const { RETURNS_TOKEN: inEnvironment, RETURNS_TOKEN_FILE: fileInEnvironment } = environment;
  if (inEnvironment) return inEnvironment.trim();
  if (fileInEnvironment) return readTokenFile("RETURNS_TOKEN_FILE", fileInEnvironment);
  throw invalid("A token is needed: --token-file, RETURNS_TOKEN, or --token - for standard input.");
}

function readTokenFile(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw invalid(`${name} names a file that cannot be read.`);
  }
}

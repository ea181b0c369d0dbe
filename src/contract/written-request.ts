import { camelCase, filledPath, listParameters, pathNames } from "./endpoint.ts";
import type { Endpoint, ParameterSchema } from "./endpoint.ts";
import { ALIASES } from "./parameters.ts";

/** A request as documents and pages write it down, with its parameters as an address has them. */
export type WrittenRequest = { endpoint: Endpoint; parameters: Readonly<Record<string, string>> };

/** Filled in by a shell, or in a request's header. */
const TOKEN = "$TOKEN";

type Value = string | number | boolean;

/** Quotes a text as one word of a shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Path and query of a request. */
export function pathText(request: WrittenRequest): string {
  const { path, query } = placed(request);
  const values = query.map(([name, value]) => [name, String(value)]);
  return `${path}${values.length === 0 ? "" : `?${new URLSearchParams(values).toString()}`}`;
}

/** A request for curl over several lines, with a line for each parameter. The docs' script writes it the same way. */
export function curlText(
  address: string,
  path: string,
  parameters: readonly (readonly [string, Value])[],
): string {
  const given = parameters.map(([name, value]) => `--data-urlencode ${shellQuoted(`${name}=${value}`)}`);
  return lines(`curl -sS -G ${shellQuoted(address + path)}`, authorization(TOKEN), ...given);
}

/** A request with a JSON body for curl, over several lines. */
export function curlPostText(address: string, path: string, body: unknown): string {
  const type = '-H "Content-Type: application/json"';
  const json = `-d ${shellQuoted(JSON.stringify(body))}`;
  return lines(`curl -sS ${shellQuoted(address + path)}`, authorization(TOKEN), type, json);
}

/** A request for curl on one line, which ends its output with a line end; `token` may be text that the shell expands. */
export function curlLine(address: string, pathAndQuery: string, token: string): string {
  return `curl -sS -w '\\n' ${authorization(token)} ${shellQuoted(address + pathAndQuery)}`;
}

/** A request of the contract for curl. */
export function curlRequestText(address: string, request: WrittenRequest): string {
  const { path, query } = placed(request);
  return curlText(address, path, query);
}

/** The parameters of `tools/call`; null: no tool wraps the endpoint. */
export function toolCall(request: WrittenRequest): { name: string; arguments: Record<string, Value> } | null {
  const { tool } = request.endpoint;
  return tool === null ? null : { name: tool.name, arguments: Object.fromEntries(givenValues(request)) };
}

/** The option of `./returns query` for a parameter: `start_month` → `--start-month`. */
export function queryOption(parameterName: string): string {
  const kebabCase = parameterName
    .replaceAll("_", "-")
    .replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
  return `--${kebabCase}`;
}

/** A request as a line of a shell that runs `./returns query`. */
export function queryLine(address: string, request: WrittenRequest): string {
  const options = givenValues(request).flatMap(([name, value]) => {
    if (typeof value !== "boolean") return [queryOption(name), shellWord(String(value))];
    // Flags: a false one is left out.
    return value ? [queryOption(name)] : [];
  });
  const command = ["./returns", "query", request.endpoint.name, "--url", shellWord(address), ...options];
  return `RETURNS_TOKEN="${TOKEN}" ${command.join(" ")}`;
}

/** A request as a program in TypeScript or JavaScript. */
export function clientText(address: string, request: WrittenRequest): string {
  const { name, response } = request.endpoint;
  const members = givenValues(request).map(([member, value]) => `  ${member}: ${JSON.stringify(value)},\n`);
  const parameters = members.length === 0 ? "" : `{\n${members.join("")}}`;
  const call = `await client.${camelCase(name)}(${parameters});`;
  const ask =
    response === null
      ? `const file = ${call}\nconsole.log(await file.text());`
      : `const { data, meta } = ${call}\nconsole.log(data, meta);`;
  return `import { createClient } from "returns-analytics-client";

const client = createClient({ baseUrl: ${JSON.stringify(address)}, token: process.env.TOKEN ?? "" });
${ask}`;
}

/**
 * The parameters that an endpoint takes, in the order of the contract, as JSON has their values. Without aliases, empty
 * values, and values that the endpoint reads as its default.
 */
function givenValues({ endpoint, parameters }: WrittenRequest): [string, Value][] {
  const alias = [...ALIASES].map((name) => parameters[name]).find(isGiven);
  const given = isGiven(alias) ? { product_gid: alias, ...parameters } : parameters;
  return listParameters(endpoint.parameters).flatMap(({ name, schema }): [string, Value][] => {
    const text = given[name];
    const value = isGiven(text) && !ALIASES.has(name) ? valueOf(schema, text) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
}

/** The values in the path, and those in the query. */
function placed(request: WrittenRequest): { path: string; query: [string, Value][] } {
  const { path } = request.endpoint;
  const given = givenValues(request);
  return {
    path: filledPath(path, Object.fromEntries(given)),
    query: given.filter(([name]) => !pathNames(path).includes(name)),
  };
}

function valueOf({ type, enum: values, ...schema }: ParameterSchema, text: string): Value | undefined {
  if (type === "boolean" && ["true", "1", "false", "0"].includes(text))
    return text === "true" || text === "1";
  if ((type === "integer" || type === "number") && Number.isFinite(Number(text))) return Number(text);
  const isNormalized =
    schema["x-normalized"] === true &&
    (values !== undefined
      ? !values.includes(text)
      : schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(text));
  return isNormalized ? undefined : text;
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}

/** The address of the MCP endpoint of a service. */
export function mcpAddress(address: string): string {
  return `${address}/api/v1/mcp`;
}

/** The shell command that connects Claude Code with a service; docs/mcp.md has the same. */
export function mcpCommandLine(address: string, token: string): string {
  return `claude mcp add --transport http returns ${mcpAddress(address)} --header "Authorization: Bearer ${token}"`;
}

/** The configuration of MCP clients that read one from a file of JSON, with the token in it. */
export function mcpConfigText(address: string, token: string): string {
  const server = { url: mcpAddress(address), headers: { Authorization: `Bearer ${token}` } };
  return JSON.stringify({ mcpServers: { returns: server } }, null, 2);
}

function authorization(token: string): string {
  return `-H "Authorization: Bearer ${token}"`;
}

function lines(...parts: string[]): string {
  return parts.join(" \\\n  ");
}

/** Quotes text that a shell would interpret. */
function shellWord(text: string): string {
  return /^[\w./:@%+,][\w./:@%+,=-]*$/u.test(text) ? text : shellQuoted(text);
}

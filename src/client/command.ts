#!/usr/bin/env node
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { createClient } from "./client.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { ReturnsApiError } from "./errors.ts";
import type { FileExport, Result } from "./result.ts";

/** The package's command: one request from anywhere, without a checkout. The service puts its own address in this place. */
const ADDRESS = "http://127.0.0.1:8080";

type AnyMethod = (parameters: Record<string, unknown>) => Promise<Result<unknown, unknown> | FileExport>;

/** start_month and reportSection → start-month and report-section, as in `./returns query`. */
function optionName(name: string): string {
  return name.replaceAll("_", "-").replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}

const USAGE = `Usage: returns-query <endpoint> [--<parameter> <value>…] [--url <address>]

RETURNS_TOKEN holds the token; RETURNS_URL or --url the address of the service (default: ${ADDRESS}).
Endpoints: ${Object.keys(ENDPOINTS).map(optionName).join(", ")}
`;

// oxlint-disable-next-line no-restricted-properties -- a program of its own, outside of the service
const { RETURNS_URL: ownAddress = "", RETURNS_TOKEN: token = "" } = process.env;

async function query([endpoint = "", ...words]: readonly string[]): Promise<void> {
  if ([endpoint, ...words].includes("--help")) return void process.stdout.write(USAGE);
  const found = Object.entries(ENDPOINTS).find(([method]) => optionName(method) === endpoint);
  if (found === undefined) throw new TypeError(USAGE);
  const [method, { parameters }] = found;
  const texts = [...parameters.map(optionName), "url"].map((name) => [name, { type: "string" }] as const);
  const given = parseArgs({ args: words, options: Object.fromEntries(texts) }).values;
  if (token === "") throw new TypeError("A token is needed: set RETURNS_TOKEN.");
  const client = createClient({ baseUrl: given["url"] ?? (ownAddress || ADDRESS), token });
  const named = Object.fromEntries(parameters.map((name) => [name, given[optionName(name)]]));
  const answer = await (client as unknown as Record<string, AnyMethod>)[method]?.(named);
  if (answer === undefined) return;
  if ("stream" in answer) return pipeline(answer.stream, process.stdout);
  process.stdout.write(`${JSON.stringify({ data: answer.data, meta: answer.meta }, null, 2)}\n`);
}

/** A server's text is untrusted: the token and control characters of terminals are removed. */
function shown(message: string): string {
  const text = token === "" ? message : message.replaceAll(token, "[token]");
  return text.replaceAll(/(?!\n)\p{Cc}/gu, "");
}

try {
  await query(process.argv.slice(2));
} catch (error) {
  const code = error instanceof ReturnsApiError ? ` (${error.code})` : "";
  // A reader of only the first lines of a file closes the pipe.
  const isClosed = (error as { code?: unknown }).code === "EPIPE";
  const message = error instanceof Error ? error.message : String(error);
  if (!isClosed) process.stderr.write(`${shown(message)}${code}\n`);
  process.exitCode = error instanceof TypeError ? 2 : 1;
}

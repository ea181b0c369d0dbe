import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { createClient } from "../client/client.ts";
import type { ReturnsClient } from "../client/client.ts";
import { ReturnsNetworkError } from "../client/errors.ts";
import { COMMAND_OPTIONS } from "../config.ts";
import { impossible, invalid } from "../actions/refusal.ts";
import type { CommandContext } from "./session.ts";

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

/** What a request without an answer means to a person at a terminal; anything else as it is. */
export function queryFailure(error: unknown): unknown {
  if (!(error instanceof ReturnsNetworkError)) return error;
  if (error.reason === "unreadable_answer")
    return impossible("What answers at this address is not a Returns Analytics API: check --url.");
  const sentence = error.message.replace(/\.?$/u, "");
  return impossible(`${sentence}: is the service running there? --url gives another address.`);
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

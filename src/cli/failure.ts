import { CommanderError } from "commander";
import { ReturnsApiError } from "../client/errors.ts";
import { ConfigError } from "../config.ts";
import { Refusal } from "../actions/refusal.ts";
import { capital } from "../lib/capital.ts";
import { Interrupted } from "./interruption.ts";

/** Message and exit code of a failed command: 1 = failed, 2 = invalid command line. */
type Failure = {
  message: string;
  exitCode: number;
  isUnexpected: boolean;
  /** Output of --json for a refusal by the API; other failures have only a message. */
  apiError?: { code: string; message: string; status: number; request_id: string | null };
};

const NETWORK_ERRORS = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EPIPE",
]);
const LOGIN_ERRORS = new Set(["28P01", "28000", "3D000"]);

/** By SQLSTATE, errors of an available database, each with instructions. */
const STATE_SENTENCES: Readonly<Record<string, (message: string) => string>> = {
  "53100": (message) => `The database's disk is full (${message}): free space on its machine and try again.`,
  "25006": (message) =>
    `The database is read-only (${message}): set DATABASE_URL to the primary, not a replica, and leave ` +
    "default_transaction_read_only off.",
  "42501": (message) =>
    `The database user lacks a right (${message}): set DATABASE_URL to the owner of the tables, who may create ` +
    "in their schema and create temporary tables.",
  "3F000": (message) =>
    `The database user cannot use any schema (${message}): grant usage and create on the schema to the user of ` +
    "DATABASE_URL.",
};

/** Turns whatever was thrown into one sentence and an exit code. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CommanderError) {
    // For a command group without a command, the help has been shown already.
    const message = error.code === "commander.help" ? "" : usageSentence(error.message);
    return { ...expected(message), exitCode: 2 };
  }
  if (error instanceof ConfigError) return { ...expected(error.message), exitCode: 2 };
  if (error instanceof Refusal) {
    return { ...expected(error.message), exitCode: error.kind === "invalid" ? 2 : 1 };
  }
  if (error instanceof ReturnsApiError) return apiFailure(error);
  if (error instanceof Interrupted) return { ...expected(error.message), exitCode: error.exitCode };
  const database = databaseSentence(error as Error & { code?: string });
  if (database !== null) return expected(database);
  const message = error instanceof Error && error.message !== "" ? error.message : String(error);
  return { message, exitCode: 1, isUnexpected: true };
}

function expected(message: string): Failure {
  return { message, exitCode: 1, isUnexpected: false };
}

/** A request that the service rejects as invalid exits like an invalid command line. */
function apiFailure({ code, message, status, requestId }: ReturnsApiError): Failure {
  const sentence =
    code === "internal_error" && requestId !== null ? `${message} (request id ${requestId})` : message;
  const apiError = { code, message, status, request_id: requestId };
  return { ...expected(sentence), exitCode: code === "invalid_request" ? 2 : 1, apiError };
}

/** Commander's "error: unknown option '--x'" as a sentence. */
function usageSentence(message: string): string {
  const text = message.replace(/^error: /u, "").replaceAll("\n", " ");
  const sentence = capital(text);
  return /[.!?)]$/u.test(sentence) ? sentence : `${sentence}.`;
}

function databaseSentence(error: Error & { code?: string }): string | null {
  const { code = "" } = error;
  const first = error instanceof AggregateError ? (error.errors[0] as Error) : error;
  if (
    NETWORK_ERRORS.has(code) ||
    /timeout exceeded when trying to connect|due to connection timeout/u.test(error.message)
  ) {
    return (
      `The database does not answer (${first.message}): check DATABASE_URL or, without it, the file ` +
      "postgresql/server.log in the data folder."
    );
  }
  if (LOGIN_ERRORS.has(code))
    return `The database refuses the connection (${first.message}): check DATABASE_URL.`;
  return STATE_SENTENCES[code]?.(first.message) ?? null;
}

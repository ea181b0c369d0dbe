import { write, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { FastifyBaseLogger } from "fastify";
import { pino } from "pino";
import type { Installation } from "../installation.ts";

const SECRET_FIELDS = ["authorization", "cookie", "set-cookie", "token", "password", "secret"];
const TOKEN_TEXT = /(rta_live_[0-9A-Za-z]{16})[0-9A-Za-z]{49}/gu;
/** Up to the last @ of the word: a password that is not percent-encoded may hold any sign, in JSON behind a backslash. */
const PASSWORD_IN_URL = /((?:postgres(?:ql)?|smtps?):\/\/[^:\s"]{0,200}:)((?:\\.|[^\s"\\])*)/gu;
const PASSWORD_PARAMETER = /([?&]password=)(?:\\.|[^&\s"\\]){1,1000}/giu;

/**
 * The service's log on standard error: readable lines on a terminal, else one JSON object per line. Secret fields are omitted,
 * and tokens and database passwords in texts are truncated to their public part.
 */
export function createServiceLogger(level: string): FastifyBaseLogger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`]),
        censor: "[redacted]",
      },
      hooks: { streamWrite: redactText },
    },
    process.stderr.isTTY ? createTerminalOutput() : createBackgroundOutput(),
  );
}

/** A person reads along: each line is written at once. */
function createTerminalOutput(): pino.DestinationStream {
  return { write: (line) => void process.stderr.write(readableLine(line)) };
}

const WRITE_CHARACTERS = 16_000;
const WRITE_AFTER_MS = 100;
/** Lines beyond are dropped: nobody reads as fast as they come. */
const MOST_WAITING_CHARACTERS = 10_000_000;
const STANDARD_ERROR = 2;
const writeTo = promisify(write);

/**
 * Standard error, written in the background and in batches: a write per line would cost a quarter of a request's time. The rest
 * is written at the end, or before a fatal error ends the process. What cannot be written, as on a full disk, is dropped: pino's own
 * destination ends the process then, or tries forever.
 */
function createBackgroundOutput(): pino.DestinationStream {
  let waiting = "";
  /** What is not written yet of the present batch. A process that ends meanwhile may write it twice. */
  let batch: Buffer = Buffer.alloc(0);
  const writeWaiting = async (): Promise<void> => {
    if (batch.length > 0) return;
    while (waiting !== "") {
      batch = Buffer.from(waiting);
      waiting = "";
      while (batch.length > 0) batch = batch.subarray(await writeSome(batch));
    }
  };
  setInterval(() => void writeWaiting(), WRITE_AFTER_MS).unref();
  process.once("exit", () => writeAtEnd(Buffer.concat([batch, Buffer.from(waiting)])));
  return {
    write: (line) => {
      if (waiting.length < MOST_WAITING_CHARACTERS) waiting += line;
      if (waiting.length >= WRITE_CHARACTERS) void writeWaiting();
    },
  };
}

/** Resolves to how many bytes were written, or to all that cannot be. */
async function writeSome(bytes: Buffer): Promise<number> {
  try {
    return (await writeTo(STANDARD_ERROR, bytes)).bytesWritten;
  } catch (error) {
    if (!isBusy(error)) return bytes.length;
    await sleep(WRITE_AFTER_MS, undefined, { ref: false });
    return 0;
  }
}

function writeAtEnd(bytes: Buffer): void {
  for (let rest = bytes; rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(STANDARD_ERROR, rest));
    } catch (error) {
      if (!isBusy(error)) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WRITE_AFTER_MS);
    }
  }
}

/** Whether the reader of a pipe is slower than the log. */
function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EAGAIN";
}

/** Leaves a token's id, which lists show too. Most lines have nothing to redact, which is checked first. */
export function redactText(line: string): string {
  if (!line.includes("rta_live_") && !line.includes("://")) return line;
  return line
    .replaceAll(TOKEN_TEXT, "$1[redacted]")
    .replaceAll(PASSWORD_IN_URL, withoutPassword)
    .replaceAll(PASSWORD_PARAMETER, "$1[redacted]");
}

/** The expression matches the rest of the word, with or without an @, so that no part is scanned twice. */
function withoutPassword(whole: string, before: string, rest: string): string {
  const end = rest.lastIndexOf("@");
  return end === -1 ? whole : `${before}[redacted]${rest.slice(end)}`;
}

const LAST_CLOSE_MS = 5000;

/** An uncaught error leaves the process in an unknown state: it is logged, and the process ends. */
export function endOnUnexpectedError(
  installation: Installation,
  logger: ReturnType<typeof createServiceLogger>,
): void {
  const end = async (cause: unknown): Promise<void> => {
    logger.fatal({ err: cause }, "unexpected failure; the process ends");
    await Promise.race([installation.close(), sleep(LAST_CLOSE_MS)]);
    process.exit(1);
  };
  process.once("uncaughtException", (error) => void end(error));
  process.once("unhandledRejection", (error) => void end(error));
}

type LogLine = Readonly<Record<string, unknown>> & {
  level?: string;
  time?: string;
  msg?: string;
  method?: string;
  route?: string;
  status?: number;
  duration_ms?: number;
};

/** Fields that a log line shows elsewhere. */
const SHOWN_APART = new Set(["level", "time", "msg", "err", "method", "route", "status", "duration_ms"]);

/**
 * A JSON line of the log as a person reads it: time of day (UTC), level, what happened, further fields, and below it the
 * stack of an error. Anything else stays as it is.
 */
export function readableLine(line: string): string {
  const entry = parse(line);
  if (entry === null) return line;
  const fields = Object.entries(entry)
    .filter(([name, value]) => !SHOWN_APART.has(name) && value !== null)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const { level = "", time = "" } = entry;
  const words = [time.slice(11, 19), level.toUpperCase().padEnd(5), messageOf(entry), ...fields];
  return `${words.join(" ")}\n${stackOf(entry)}`;
}

function messageOf({ msg = "", method, route, status, duration_ms: durationMs }: LogLine): string {
  if (route === undefined) return msg;
  const prefix = msg === "request" ? "" : `${msg}: `;
  return `${prefix}${method} ${route} ${status} in ${durationMs} ms`;
}

function stackOf(entry: LogLine): string {
  const error = entry["err"];
  if (typeof error !== "object" || error === null) return "";
  const { stack, message } = error as { stack?: string; message?: string };
  return `${(stack ?? message ?? JSON.stringify(error)).replaceAll(/^/gmu, "  ")}\n`;
}

function parse(line: string): LogLine | null {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return null;
  }
}

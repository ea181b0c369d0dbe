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

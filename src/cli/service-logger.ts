import { pino } from "pino";
import type { FastifyBaseLogger } from "fastify";

const SECRET_FIELDS = ["authorization", "cookie", "set-cookie", "token", "password", "secret"];
const TOKEN_TEXT = /(rta_live_[0-9A-Za-z]{16})[0-9A-Za-z]{49}/gu;
const PASSWORD_IN_URL = /(postgres(?:ql)?:\/\/[^:@/\s"]*:)[^@\s"]*@/gu;

/**
 * The service's log: one JSON object a line on standard error. Fields that hold secrets are left out, and a token or
 * a database password inside any text is cut down to what may be read.
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
    // Written in the background; what is left at the end is flushed when the process exits.
    pino.destination({ dest: 2, sync: false }),
  );
}

/** Leaves a token's id, which lists show too. */
export function redactText(line: string): string {
  return line.replaceAll(TOKEN_TEXT, "$1[redacted]").replaceAll(PASSWORD_IN_URL, "$1[redacted]@");
}

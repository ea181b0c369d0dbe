import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from "fastify";
import { parseToken } from "../access/token.ts";

export const PROBE_ROUTES: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

type Bindings = Readonly<Record<string, unknown>>;
type Line = [about: unknown, message?: string];
type Write = (...line: Line) => void;

const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace"] as const;

/** The log of one request. Most requests write only their own line, so a logger with their bindings is created on first use. */
class RequestLog {
  readonly bindings: Bindings;
  readonly logger: FastifyBaseLogger;
  declare fatal: Write;
  declare error: Write;
  declare warn: Write;
  declare info: Write;
  declare debug: Write;
  declare trace: Write;

  constructor(logger: FastifyBaseLogger, bindings: Bindings) {
    this.logger = logger;
    this.bindings = bindings;
  }

  get level(): string {
    return this.logger.level;
  }

  child(bindings: Bindings): RequestLog {
    return new RequestLog(this.logger, { ...this.bindings, ...bindings });
  }

  silent(): void {}
}

for (const level of LEVELS) {
  RequestLog.prototype[level] = function write(this: RequestLog, ...line: Line): void {
    this.logger.child(this.bindings)[level](...line);
  };
}

/** Fastify's `childLoggerFactory`. */
export function createRequestLog(logger: FastifyBaseLogger, bindings: Bindings): FastifyBaseLogger {
  return new RequestLog(logger, bindings);
}

const REFUSED_STATUSES: ReadonlySet<number> = new Set([401, 403, 429]);
const LONGEST_REASON = 200;
/** The quoted parts of a refusal, such as a name from the request. */
const QUOTED = /"(?:\\.|[^"\\]|\\$)*(?:"|$)/gsu;

/** Adds the reason of a refusal to the request's own line, without quoted input. */
export function noteRefusal(request: FastifyRequest, reason: string): void {
  request.log = request.log.child({ reason: reason.replaceAll(QUOTED, "…").slice(0, LONGEST_REASON) });
}

/** Who was refused: the id of a well-formed token, known or not, and the address of the client. */
function refusedCaller({ headers, clientAddress }: FastifyRequest): Bindings {
  const token = parseToken(/^bearer +(\S+) *$/iu.exec(headers.authorization ?? "")?.[1] ?? "");
  return { ...(token === null ? {} : { token_id: token.tokenId }), remote_address: clientAddress };
}

/**
 * Creates the writer of one log line per request, without its query or headers. Probes are logged at level debug, refusals at
 * level warn with the caller. A line contains no secrets.
 */
export function createRequestLine(
  logger: FastifyBaseLogger,
): (request: FastifyRequest, reply: FastifyReply) => void {
  const lines = logger.child({}, { redact: [] });
  return (request, reply) => {
    const route = request.routeOptions.url ?? "unknown";
    const { bindings } = request.log as unknown as RequestLog;
    const isRefused = REFUSED_STATUSES.has(reply.statusCode) || "reason" in bindings;
    const line = {
      ...(isRefused ? refusedCaller(request) : {}),
      ...bindings,
      method: request.method,
      route,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 1000) / 1000,
    };
    if (isRefused) lines.warn(line, "request");
    else lines[PROBE_ROUTES.has(route) ? "debug" : "info"](line, "request");
  };
}

import { finished, Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ReadyAnswer } from "../access/answers.ts";
import { ApiError, ERROR_STATUS, INTERNAL_ERROR_MESSAGE, errorBody } from "../contract/errors.ts";
import type { ErrorCode } from "../contract/errors.ts";
import { JSON_TYPE, jsonText, QUOTA_HEADERS, quotaHeaders } from "../contract/wire.ts";
import { noteRefusal } from "./request-log.ts";
import { logFailure } from "../lib/log-failure.ts";

/** Sends an endpoint's answer. */
export function sendAnswer(reply: FastifyReply, answer: ReadyAnswer): FastifyReply {
  if (answer.kind === "json") return reply.type(JSON_TYPE).send(answer.text);
  reply.header("Content-Disposition", `attachment; filename="${answer.filename}"`);
  const { type, content } = answer;
  reply.type(type === "text/csv" ? "text/csv; charset=utf-8" : type);
  if (typeof content === "string") return reply.send(content);
  if (!(content instanceof Readable)) return reply.send(Readable.from(content, { objectMode: false }));
  if (reply.request.method !== "HEAD") return reply.send(content);
  // Nobody reads it: it would keep its place until its reader times out.
  content.destroy();
  finished(content, () => void reply.send(""));
  return reply;
}

/** Sends a refusal of the closed list. */
export function sendRefusal(
  reply: FastifyReply,
  code: ErrorCode,
  message: string,
  status: number = ERROR_STATUS[code],
): FastifyReply {
  return reply
    .code(status)
    .type(JSON_TYPE)
    .send(jsonText(errorBody(code, message)));
}

// Fastify's refusals before a handler runs: its codes, with the API's messages.
const TRANSPORT_REFUSALS: Record<string, { status: number; message: string }> = {
  FST_ERR_BAD_URL: { status: 400, message: "The path of the URL must be percent-encoded UTF-8." },
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, message: "The request body is too large." },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { status: 415, message: "The Content-Type is not supported." },
};

/** The token's workspace may have ended, or lost its plan, after the quota was read. */
const HIDES_QUOTA: ReadonlySet<ErrorCode> = new Set(["unauthorized", "forbidden"]);
const REFUSALS: ReadonlySet<ErrorCode> = new Set(["unauthorized", "forbidden", "rate_limited"]);

/** Turns anything thrown into an answer: an `ApiError` with its status, all else a plain 500 with its cause logged. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof ApiError) {
    reply.headers(quotaHeaders(error.quota));
    if (HIDES_QUOTA.has(error.code)) for (const name of QUOTA_HEADERS) reply.removeHeader(name);
    if (REFUSALS.has(error.code)) noteRefusal(request, error.message);
    if (error.code === "unauthorized") reply.header("WWW-Authenticate", "Bearer");
    if (error.retryAfterSeconds !== null) reply.header("Retry-After", String(error.retryAfterSeconds));
    return sendRefusal(reply, error.code, error.message);
  }
  const code = (error as { code?: string }).code ?? "";
  // The database's connections fail with the same code, once the whole request is here.
  if (code === "ECONNRESET" && !request.raw.complete) {
    request.log.info({ route: request.routeOptions.url }, "upload aborted");
    return sendRefusal(reply, "invalid_request", "The request body ended early.");
  }
  const transport = TRANSPORT_REFUSALS[code];
  if (transport !== undefined) {
    return sendRefusal(reply, "invalid_request", transport.message, transport.status);
  }
  logFailure(request.log, error, request.routeOptions.url);
  return sendRefusal(reply.header("Retry-After", "1"), "internal_error", INTERNAL_ERROR_MESSAGE);
}

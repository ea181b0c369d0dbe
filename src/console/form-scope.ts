import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendError } from "../http/answer.ts";
import { sendState } from "./page-send.ts";
import { TOO_LARGE, unexpected } from "./state-page.ts";
import { logFailure } from "../lib/log-failure.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";
const BYTES_TYPE = "application/octet-stream";

/** Maximum lengths of the bodies in a scope; null: bytes are not allowed. */
type Limits = { formBytes: number; partBytes: number | null };

/** A separate context on the server: bodies are forms, or bytes where allowed, and errors are pages. */
export function formScope(
  server: FastifyInstance,
  limits: Limits,
  register: (scope: FastifyInstance) => void,
): void {
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      FORM_TYPE,
      { parseAs: "string", bodyLimit: limits.formBytes },
      (_request, body, done) => done(null, new URLSearchParams(body.toString())),
    );
    if (limits.partBytes !== null) {
      scope.addContentTypeParser(
        BYTES_TYPE,
        { parseAs: "buffer", bodyLimit: limits.partBytes },
        (_request, body, done) => done(null, body),
      );
    }
    scope.setErrorHandler(sendBroken);
    register(scope);
  });
}

/** The fields of a form; none when the body was none. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

function sendBroken(
  error: Error & { statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  if (error.statusCode === TOO_LARGE.status && request.headers["content-type"]?.startsWith(FORM_TYPE))
    return sendState({ request, reply }, TOO_LARGE, null);
  if ((error.statusCode ?? 500) < 500) return sendError(error, request, reply);
  logFailure(request.log, error, request.routeOptions.url);
  return sendState({ request, reply }, unexpected(error, request.id), null);
}

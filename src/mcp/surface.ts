import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Admit } from "../admission/admit.ts";
import type { Operation } from "../admission/operation.ts";
import { ApiError, INTERNAL_ERROR_MESSAGE } from "../contract/errors.ts";
import type { QuotaState } from "../contract/errors.ts";
import { quotaHeaders } from "../contract/wire.ts";
import { INVALID_REQUEST, isObject, readMessage } from "./message.ts";
import type { Malformed, Message, RequestId } from "./message.ts";
import { isKnownVersion, runMethod } from "./methods.ts";
import { INTERNAL, NOT_AUTHENTICATED, rpcError, rpcResult, sendRpc } from "./reply.ts";
import type { RpcAnswer } from "./reply.ts";
import { callTool, toolResultText } from "./tool-call.ts";

export type McpOptions = {
  operations: readonly Operation[];
  admit: Admit;
  /** Origins of browser pages that may call; a request without Origin is no browser's. */
  allowedOrigins: readonly string[];
};

const PATH = "/api/v1/mcp";
const NEED = { scope: null, entitlements: ["api_access"], counted: false } as const;

/**
 * The MCP endpoint: JSON-RPC 2.0 over one POST, without streams and sessions. Order of checks: method (the server's),
 * Origin, content type, size, token, billing and entitlement, JSON, envelope, method name.
 */
export function createMcpSurface(options: McpOptions) {
  const tools = new Map(options.operations.map((operation) => [operation.endpoint.toolName, operation]));
  const origins = new Set(options.allowedOrigins);
  return {
    path: PATH,
    allowedMethods: "POST",
    register: (server: FastifyInstance): void => {
      // A context of its own: its parser and error form are not the other routes'.
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
          done(null, body),
        );
        scope.addHook("onRequest", (request, reply, done) => {
          const refusal = refuseForeign(request, origins);
          if (refusal === null) done();
          else sendRpc(reply, refusal);
        });
        scope.setErrorHandler((error, request, reply) =>
          sendRpc(reply, failureAnswer(error, request, reply, null)),
        );
        scope.post(PATH, async (request, reply) => {
          const message = readMessage(request.body as Buffer | undefined);
          return sendRpc(
            reply,
            await answerMessage(message, request, reply, { tools, admit: options.admit }),
          );
        });
      });
    },
  };
}

function refuseForeign({ headers }: FastifyRequest, origins: ReadonlySet<string>): RpcAnswer | null {
  if (headers.origin !== undefined && !origins.has(headers.origin)) {
    const message = "Browser pages of this Origin may not call this server.";
    return rpcError(403, null, { code: INVALID_REQUEST, message });
  }
  const mediaType = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType === "application/json") return null;
  const message = "The Content-Type must be application/json.";
  return rpcError(415, null, { code: INVALID_REQUEST, message });
}

type Tools = ReadonlyMap<string | null, Operation>;

async function answerMessage(
  message: Message | Malformed,
  request: FastifyRequest,
  reply: FastifyReply,
  { tools, admit }: { tools: Tools; admit: Admit },
): Promise<RpcAnswer> {
  const { authorization } = request.headers;
  const onAdmitted = (quota: QuotaState | null, tokenId: string): void => {
    request.log = request.log.child({ token_id: tokenId });
    reply.headers(quotaHeaders(quota));
  };
  try {
    const versionIsKnown = isKnownVersion(request.headers["mcp-protocol-version"], message);
    const call = versionIsKnown ? toolCallOf(message, tools) : null;
    // The operation's own admission is the one that a tools/call needs: it is the counted one.
    if (call !== null) {
      const toolAnswer = await callTool(call.operation, { authorization, values: call.values }, onAdmitted);
      reply.headers(quotaHeaders(toolAnswer.refusedQuota));
      if (toolAnswer.failure !== null) logFailure(request, toolAnswer.failure);
      return rpcResult(call.id, toolResultText(toolAnswer));
    }
    const { quota, tokenId } = await admit(authorization, NEED);
    onAdmitted(quota, tokenId);
    return uncountedAnswer(message, versionIsKnown);
  } catch (error) {
    return failureAnswer(error, request, reply, message.kind === "request" ? message.id : null);
  }
}

/** A well-formed call of a known tool, or null. */
function toolCallOf(message: Message | Malformed, tools: Tools) {
  if (message.kind !== "request" || message.method !== "tools/call") return null;
  const { id, params } = message;
  if (!isObject(params) || typeof params["name"] !== "string") return null;
  const operation = tools.get(params["name"]);
  const { arguments: values = {} } = params;
  return operation === undefined || !isObject(values) ? null : { id, operation, values };
}

/** Everything that is no request of the daily quota, for a caller who may use the API. */
function uncountedAnswer(message: Message | Malformed, versionIsKnown: boolean): RpcAnswer {
  if (message.kind === "malformed") {
    return rpcError(400, null, { code: message.code, message: message.reason });
  }
  if (!versionIsKnown) {
    const reason = "This MCP-Protocol-Version is not known; send 2025-06-18, or leave the header out.";
    const id = message.kind === "request" ? message.id : null;
    return rpcError(400, id, { code: INVALID_REQUEST, message: reason });
  }
  if (message.kind === "unanswered") return { status: 202, text: null };
  const outcome = runMethod(message);
  return "error" in outcome
    ? rpcError(200, message.id, outcome.error)
    : rpcResult(message.id, outcome.resultText);
}

/** What answers an error of ours or of Fastify, whose own refusals (size, broken transfer) carry a status. */
function failureAnswer(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  id: RequestId | null,
): RpcAnswer {
  if (error instanceof ApiError) {
    request.log = request.log.child({ reason: error.message });
    return refusedCaller(error, reply, id);
  }
  const { statusCode = 500 } = error as { statusCode?: number };
  if (statusCode >= 400 && statusCode < 500) {
    const message =
      statusCode === 413 ? "The request body is too large." : "The request body could not be read.";
    return rpcError(statusCode, null, { code: INVALID_REQUEST, message });
  }
  logFailure(request, error);
  reply.header("Retry-After", "1");
  return rpcError(500, id, { code: INTERNAL, message: INTERNAL_ERROR_MESSAGE });
}

function refusedCaller(error: ApiError, reply: FastifyReply, id: RequestId | null): RpcAnswer {
  if (error.code !== "unauthorized") {
    return rpcError(403, id, { code: NOT_AUTHENTICATED, message: error.message });
  }
  reply.header("WWW-Authenticate", "Bearer");
  const advice =
    "Set the header Authorization: Bearer <API_TOKEN> where the MCP client configures this server.";
  return rpcError(401, id, { code: NOT_AUTHENTICATED, message: `${error.message} ${advice}` });
}

function logFailure(request: FastifyRequest, error: unknown): void {
  request.log.error({ err: error, route: PATH }, "unexpected error");
}

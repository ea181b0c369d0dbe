import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Admit } from "../admission/admit.ts";
import type { Operation } from "../admission/operation.ts";
import { ApiError, INTERNAL_ERROR_MESSAGE } from "../contract/errors.ts";
import type { ErrorCode, QuotaState } from "../contract/errors.ts";
import { quotaHeaders } from "../contract/wire.ts";
import { errorType, note, noteFailure } from "../lib/trace.ts";
import { TOO_LARGE, UNREADABLE, UnreadBodyError, declaredBytes, readBody } from "./body.ts";
import { INVALID_REQUEST, isObject, readMessage } from "./message.ts";
import type { JsonObject, Malformed, Message, RequestId } from "./message.ts";
import { LEGACY, runMethod } from "./methods.ts";
import type { Revision } from "./methods.ts";
import { MODERN, isModern } from "./modern.ts";
import { INTERNAL, METHOD_NOT_FOUND, NOT_AUTHENTICATED, rpcError, rpcResult, sendRpc } from "./reply.ts";
import type { RpcAnswer } from "./reply.ts";
import { callTool, toolResultText } from "./tool-call.ts";

export type McpOptions = {
  operations: readonly Operation[];
  admit: Admit;
  /** Origins of browser pages that may call; a request without Origin is no browser's. */
  allowedOrigins: readonly string[];
  /** Hears of each tool call that is answered with an error, which HTTP does not show. */
  onToolError?: (code: ErrorCode) => void;
  /** How long a body may take to arrive; 10 s by default. */
  bodyTimeoutMs?: number;
};

const PATH = "/api/v1/mcp";
const NEED = { scope: null, entitlements: ["api_access"], counted: false } as const;
const BODY_LIMIT_BYTES = 65_536;
const BODY_TIMEOUT_MS = 10_000;
/** Less than the headers may have: reading it costs less than querying the database twice (docs/decisions/0016). */
const SHORT_BODY_BYTES = 4096;

/**
 * The MCP endpoint: JSON-RPC 2.0 over one POST, without streams and sessions. Order of checks: method (the server's),
 * Origin, content type, declared size, token, billing and entitlement, JSON, envelope, revision, method name.
 */
export function createMcpSurface(options: McpOptions) {
  const tools = new Map(options.operations.map((operation) => [operation.endpoint.tool?.name, operation]));
  const origins = new Set(options.allowedOrigins);
  const limits = { bytes: BODY_LIMIT_BYTES, milliseconds: options.bodyTimeoutMs ?? BODY_TIMEOUT_MS };
  const admitted = new WeakSet<FastifyRequest>();
  const call = { tools, countError: options.onToolError ?? (() => {}) };
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { quota, tokenId } = await options.admit(request.headers.authorization, NEED);
    noteAdmission(request, reply, quota, tokenId);
  };
  return {
    path: PATH,
    allowedMethods: "POST",
    register: (server: FastifyInstance): void => {
      // A context of its own: its parser and error form are not the other routes'.
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("application/json", ({ raw }: FastifyRequest) => readBody(raw, limits));
        scope.addHook("onRequest", (request, reply, done) => {
          const refusal = refuseUnread(request, origins);
          if (refusal === null) done();
          else sendRpc(reply, refusal);
        });
        scope.addHook("onRequest", async (request, reply) => {
          // By then, what came in one piece with the headers is here.
          await nextTurn();
          if (hasShortBody(request)) return;
          await admit(request, reply);
          admitted.add(request);
        });
        scope.setErrorHandler((error, request, reply) =>
          sendRpc(reply, failureAnswer(error, request, reply, null)),
        );
        scope.post(PATH, async (request, reply) => {
          const enter = async (): Promise<void> => {
            if (!admitted.has(request)) await admit(request, reply);
          };
          const message = readMessage(request.body as Buffer);
          return sendRpc(reply, await answerMessage(message, request, reply, { ...call, enter }));
        });
      });
    },
  };
}

function refuseUnread({ headers, raw }: FastifyRequest, origins: ReadonlySet<string>): RpcAnswer | null {
  const refuse = (status: number, message: string): RpcAnswer =>
    rpcError(status, null, { code: INVALID_REQUEST, message });
  if (headers.origin !== undefined && !origins.has(headers.origin)) {
    return refuse(403, "Browser pages of this Origin may not call this server.");
  }
  const mediaType = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") return refuse(415, "The Content-Type must be application/json.");
  return declaredBytes(raw) > BODY_LIMIT_BYTES ? refuse(413, TOO_LARGE) : null;
}

/** Whether the whole body is here already and short; any other is read only once its caller is admitted. */
function hasShortBody({ raw }: FastifyRequest): boolean {
  return raw.complete && raw.readableLength <= SHORT_BODY_BYTES;
}

function noteAdmission(
  request: FastifyRequest,
  reply: FastifyReply,
  quota: QuotaState | null,
  tokenId: string,
): void {
  request.log = request.log.child({ token_id: tokenId });
  reply.headers(quotaHeaders(quota));
}

type Tools = ReadonlyMap<string | undefined, Operation>;
type CountError = (code: ErrorCode) => void;

/** `enter` admits a caller who was not before the body was read; a tool's own admission, the counted one, does too. */
async function answerMessage(
  message: Message | Malformed,
  request: FastifyRequest,
  reply: FastifyReply,
  { tools, countError, enter }: { tools: Tools; countError: CountError; enter: () => Promise<void> },
): Promise<RpcAnswer> {
  const id = message.kind === "request" ? message.id : null;
  try {
    if (message.kind === "malformed") {
      await enter();
      return rpcError(400, null, { code: message.code, message: message.reason });
    }
    const revision = isModern(request.headers, message) ? MODERN : LEGACY;
    const refusal = revision.refuse(request.headers, message);
    const call = refusal === null ? toolCallOf(message, tools) : null;
    if (call !== null) {
      return rpcResult(call.id, revision.resultText(await answerCall(call, request, reply, countError)));
    }
    await enter();
    return refusal === null ? uncountedAnswer(message, revision) : rpcError(400, id, refusal);
  } catch (error) {
    return failureAnswer(error, request, reply, id);
  }
}

type ToolCall = { id: RequestId; operation: Operation; values: JsonObject };

/** A well-formed call of a known tool, or null. */
function toolCallOf(message: Message, tools: Tools): ToolCall | null {
  if (message.kind !== "request" || message.method !== "tools/call") return null;
  const { id, params } = message;
  if (!isObject(params) || typeof params["name"] !== "string") return null;
  const operation = tools.get(params["name"]);
  const { arguments: values = {} } = params;
  return operation === undefined || !isObject(values) ? null : { id, operation, values };
}

const TOOL_CALL = { "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool" };

/** Runs a tool; its own admission is the counted one. Returns the JSON of the result. */
async function answerCall(
  { operation, values }: ToolCall,
  request: FastifyRequest,
  reply: FastifyReply,
  countError: CountError,
): Promise<string> {
  const { authorization } = request.headers;
  note({ ...TOOL_CALL, "gen_ai.tool.name": operation.endpoint.tool?.name ?? "" });
  const answer = await callTool(operation, { authorization, values }, (quota, tokenId) =>
    noteAdmission(request, reply, quota, tokenId),
  );
  reply.headers(quotaHeaders(answer.refusedQuota));
  if (answer.failure !== null) logFailure(request, answer.failure);
  if (answer.errorCode !== null) countError(answer.errorCode);
  return toolResultText(answer);
}

/** Everything that is no request of the daily quota, for a caller who may use the API. */
function uncountedAnswer(message: Message, revision: Revision): RpcAnswer {
  if (message.kind === "unanswered") return { status: 202, text: null };
  const outcome = runMethod(revision, message);
  if (!("error" in outcome)) {
    note({ "mcp.method.name": message.method });
    return rpcResult(message.id, revision.resultText(outcome.resultText));
  }
  const isUnknown = outcome.error.code === METHOD_NOT_FOUND;
  return rpcError(isUnknown ? revision.unknownMethod.status : 200, message.id, outcome.error);
}

/** What answers an error of ours or of Fastify, whose own refusals carry a status. */
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
    const message = error instanceof UnreadBodyError ? error.message : UNREADABLE;
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
  noteFailure(errorType(error));
  request.log.error({ err: error, route: PATH }, "unexpected error");
}

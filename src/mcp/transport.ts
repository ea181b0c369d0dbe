import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Admit } from "../access/admit.ts";
import type { Operation } from "../access/operation.ts";
import { RESOURCE_METADATA_PATH } from "../access/oauth.ts";
import { ApiError, INTERNAL_ERROR_MESSAGE, MCP_WORDS } from "../contract/errors.ts";
import type { ErrorCode, QuotaState } from "../contract/errors.ts";
import { jsonText, QUOTA_HEADERS, quotaHeaders } from "../contract/wire.ts";
import { logFailure } from "../lib/log-failure.ts";
import { ownOriginOf } from "../lib/networks.ts";
import { errorType, note, noteFailure } from "../lib/trace.ts";
import {
  answerMethod,
  INTERNAL,
  INVALID_REQUEST,
  isObject,
  NOT_AUTHENTICATED,
  readArguments,
  readMessage,
  refusalOf,
  revisionOf,
  rpcError,
  rpcResult,
  sendRpc,
  toolResultText,
} from "./tool-call.ts";
import type { JsonObject, Malformed, Message, RequestId, RpcAnswer } from "./tool-call.ts";

const TOO_LARGE = "The request body is too large.";
/** Why a body was not read to its end, by the status of its answer. */
const UNREAD: Readonly<Record<number, string>> = {
  408: "The request body took too long to arrive.",
  413: TOO_LARGE,
};

type McpOptions = {
  operations: readonly Operation[];
  admit: Admit;
  /**
   * Origins of browser pages that may call it, in addition to the service's own; a request without Origin is not from a browser.
   */
  allowedOrigins: readonly string[];
  /** Where the service is reached over https; null = only under this machine's own names are its pages known. */
  publicOrigin: string | null;
  /** Where clients sign in by themselves; null = they need a token. */
  issuer?: string | null;
  /** Called for each tool call that is answered with an error, which HTTP does not show. */
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
/** Credentials are a header that the page sets itself, so cookies are not needed. */
const PREFLIGHT_HEADERS = {
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, X-Request-ID",
  "Access-Control-Max-Age": "7200",
};

/**
 * The MCP endpoint: JSON-RPC 2.0 over one POST, without streams and sessions. Order of checks: method (the server's),
 * Origin, content type, declared size, token, billing and entitlement, JSON, envelope, revision, method name.
 */
export function createMcpRoutes(options: McpOptions) {
  const tools = new Map(options.operations.map((operation) => [operation.endpoint.tool?.name, operation]));
  const allowed = new Set(options.allowedOrigins);
  const mayCall = ({ headers }: FastifyRequest): boolean =>
    headers.origin === undefined ||
    allowed.has(headers.origin) ||
    headers.origin === ownOriginOf(headers.host, options.publicOrigin);
  const admitted = new WeakSet<FastifyRequest>();
  const call = { tools, countError: options.onToolError ?? (() => {}) };
  const { issuer = null } = options;
  const metadata = issuer === null ? "" : ` resource_metadata="${issuer}${RESOURCE_METADATA_PATH}${PATH}"`;
  const challenge = `Bearer${metadata}`;
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { quota, tokenId } = await options.admit(request.headers.authorization, NEED);
    noteAdmission(request, reply, quota, tokenId);
  };
  return {
    path: PATH,
    allowedMethods: "POST",
    register: (server: FastifyInstance): void => {
      // A separate context with its own parser and error format.
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        const reading = { parseAs: "buffer", bodyLimit: BODY_LIMIT_BYTES } as const;
        scope.addContentTypeParser("application/json", reading, (_request, body, done) => done(null, body));
        scope.addHook("preParsing", ({ raw }, _reply, _payload, done) => {
          // Most bodies have arrived by now and need no timer.
          if (!raw.complete) limitTime(raw, options.bodyTimeoutMs ?? BODY_TIMEOUT_MS);
          done();
        });
        scope.addHook("onRequest", (request, reply, done) => {
          const isShared = allowed.has(request.headers.origin ?? "");
          // A page of an allowed origin may read the 405 of its GET, too: clients try a stream.
          if (isShared) reply.headers(sharedWith(request));
          const refusal = refuseUnread(request, mayCall(request));
          if (isShared && request.method === "OPTIONS") reply.code(204).headers(PREFLIGHT_HEADERS).send();
          else if (request.method !== "POST") reply.callNotFound();
          else if (refusal === null) done();
          else sendRpc(reply, refusal);
        });
        scope.addHook("onRequest", async (request, reply) => {
          // By then, data that arrived in one chunk with the headers is available.
          await nextTurn();
          if (hasShortBody(request)) return;
          await admit(request, reply);
          admitted.add(request);
        });
        scope.addHook("onSend", (_request, reply, _payload, done) => {
          if (reply.statusCode === 401) reply.header("WWW-Authenticate", challenge);
          done();
        });
        scope.setErrorHandler(async (error, request, reply) => {
          // Fastify would let the rest of the body flow, and Node.js begins to read it in this turn.
          request.raw.pause();
          await nextTurn();
          return sendRpc(reply, failureAnswer(error, request, reply, null));
        });
        const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
          const enter = async (): Promise<void> => {
            if (!admitted.has(request)) await admit(request, reply);
          };
          const message = readMessage(request.body as Buffer);
          return sendRpc(reply, await answerMessage(message, request, reply, { ...call, enter }));
        };
        scope.route({ method: ["GET", "OPTIONS", "POST"], url: PATH, handler });
      });
    },
  };
}

/** Lets the page of an allowed origin read the answer (CORS). */
function sharedWith({ headers }: FastifyRequest): Record<string, string> {
  return {
    "Access-Control-Allow-Origin": headers.origin ?? "",
    "Access-Control-Expose-Headers": [
      "X-Request-ID",
      "Retry-After",
      "WWW-Authenticate",
      ...QUOTA_HEADERS,
    ].join(", "),
    Vary: "Origin",
  };
}

function refuseUnread({ headers }: FastifyRequest, mayCall: boolean): RpcAnswer | null {
  const refuse = (status: number, message: string): RpcAnswer =>
    rpcError(status, null, { code: INVALID_REQUEST, message });
  if (!mayCall) {
    return refuse(403, "Browser pages of this Origin may not call this server.");
  }
  const mediaType = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") return refuse(415, "The Content-Type must be application/json.");
  return Number(headers["content-length"] ?? 0) > BODY_LIMIT_BYTES ? refuse(413, TOO_LARGE) : null;
}

/** Ends the reading of a body that takes too long: Fastify answers an error of its stream. */
function limitTime(raw: FastifyRequest["raw"], timeoutMs: number): void {
  const end = () => raw.emit("error", Object.assign(new Error(UNREAD[408]), { statusCode: 408 }));
  const timer = setTimeout(end, timeoutMs);
  // Listens to errors too: one that nobody hears ends the process.
  for (const event of ["end", "error", "close"]) raw.once(event, () => clearTimeout(timer));
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
    const revision = revisionOf(request.headers, message);
    const refusal = revision.refuse(request.headers, message);
    const call = refusal === null ? toolCallOf(message, tools) : null;
    if (call !== null) {
      return rpcResult(call.id, revision.resultText(await answerCall(call, request, reply, countError)));
    }
    await enter();
    if (refusal !== null) return rpcError(400, id, refusal);
    return message.kind === "request" ? answerMethod(revision, message) : { status: 202, text: null };
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

/** Runs the endpoint that a tool wraps; its own admission is the counted one. Returns the JSON of the result. */
async function answerCall(
  { operation, values }: ToolCall,
  request: FastifyRequest,
  reply: FastifyReply,
  countError: CountError,
): Promise<string> {
  const { authorization } = request.headers;
  note({ ...TOOL_CALL, "gen_ai.tool.name": operation.endpoint.tool?.name ?? "" });
  const parameters = () => readArguments(operation, values);
  let isAdmitted = false;
  try {
    const answer = await operation.perform(
      { authorization, words: MCP_WORDS, parameters },
      (quota, tokenId) => {
        isAdmitted = true;
        noteAdmission(request, reply, quota, tokenId);
      },
    );
    if (answer.kind !== "json") throw new Error("A tool must wrap an endpoint that answers JSON.");
    return toolResultText(answer.text, false);
  } catch (error) {
    const body = refusalOf(error, isAdmitted);
    if (body === null) throw error;
    if (error instanceof ApiError) reply.headers(quotaHeaders(error.quota));
    else noteError(request, error);
    countError(body.error.code);
    return toolResultText(jsonText(body), true);
  }
}

/** The answer to an error of ours or of Fastify, whose refusals have a status. */
function failureAnswer(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  id: RequestId,
): RpcAnswer {
  if (error instanceof ApiError) {
    request.log = request.log.child({ reason: error.message });
    return refusedCaller(error, reply, id);
  }
  const { statusCode = 500 } = error as { statusCode?: number };
  if (statusCode >= 400 && statusCode < 500) {
    const message = UNREAD[statusCode] ?? "The request body could not be read.";
    return rpcError(statusCode, null, { code: INVALID_REQUEST, message });
  }
  noteError(request, error);
  reply.header("Retry-After", "1");
  return rpcError(500, id, { code: INTERNAL, message: INTERNAL_ERROR_MESSAGE });
}

function refusedCaller(error: ApiError, reply: FastifyReply, id: RequestId): RpcAnswer {
  for (const name of QUOTA_HEADERS) reply.removeHeader(name);
  if (error.code !== "unauthorized") {
    return rpcError(403, id, { code: NOT_AUTHENTICATED, message: error.message });
  }
  const advice =
    "Set the header Authorization: Bearer <API_TOKEN> where the MCP client configures this server.";
  return rpcError(401, id, { code: NOT_AUTHENTICATED, message: `${error.message} ${advice}` });
}

function noteError(request: FastifyRequest, error: unknown): void {
  noteFailure(errorType(error));
  logFailure(request.log, error, PATH);
}

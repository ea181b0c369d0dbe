import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply } from "fastify";
import type { Operation } from "../access/operation.ts";
import { takesSelector, API_VERSION } from "../contract/endpoint.ts";
import { ApiError, INTERNAL_ERROR_MESSAGE, errorBody, MCP_WORDS } from "../contract/errors.ts";
import type { ErrorBody } from "../contract/errors.ts";
import type { RawInput } from "../contract/input.ts";
import { SELECTOR_SHAPES, INSTRUCTIONS, SERVER_TITLE, TOOLS } from "../contract/tools.ts";
import { JSON_TYPE } from "../contract/wire.ts";
import { parsedJson } from "../lib/parsed-json.ts";
import { note } from "../lib/trace.ts";

/** The id of a request: numbers beyond ±(2^53 − 1) would come back changed and are refused. */
export type RequestId = string | number | null;

/** A JSON object as parsed; members named as its prototype's are its own. */
export type JsonObject = Record<string, unknown>;

export type Request = {
  kind: "request";
  id: RequestId;
  method: string;
  params: JsonObject | "not an object";
};

/** A request, or a message without a response: a notification, or a response to a request that we never sent. */
export type Message = Request | { kind: "unanswered"; method: string | null };

/** Why a body is no message; `code` is JSON-RPC's. */
export type Malformed = { kind: "malformed"; code: number; reason: string };

const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a body as one JSON-RPC 2.0 message. */
export function readMessage(body: Uint8Array | undefined): Message | Malformed {
  let parsed: unknown;
  try {
    parsed = JSON.parse(utf8.decode(body));
  } catch {
    return malformed("The body is not valid JSON in UTF-8.", PARSE_ERROR);
  }
  if (Array.isArray(parsed)) return malformed("Batches are not supported: send one request per POST.");
  if (!isObject(parsed) || parsed["jsonrpc"] !== "2.0") {
    return malformed('The body must be a JSON-RPC 2.0 message: an object with "jsonrpc": "2.0".');
  }
  return typeof parsed["method"] === "string"
    ? readCall(parsed, parsed["method"])
    : readResponse(parsed, "method" in parsed);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readCall(message: JsonObject, method: string): Message | Malformed {
  const { id, params = {} } = message;
  if (typeof params !== "object" || params === null) return malformed("params must be an object.");
  if (!Object.hasOwn(message, "id")) return { kind: "unanswered", method };
  if (!isRequestId(id)) {
    return malformed("The id must be a string, null or a number within ±(2^53 − 1).");
  }
  return { kind: "request", id, method, params: isObject(params) ? params : "not an object" };
}

function readResponse(message: JsonObject, hasMethod: boolean): Message | Malformed {
  const isResponse = !hasMethod && (Object.hasOwn(message, "result") || Object.hasOwn(message, "error"));
  return isResponse ? { kind: "unanswered", method: null } : malformed("The method must be a string.");
}

function isRequestId(id: unknown): id is RequestId {
  return (
    id === null ||
    typeof id === "string" ||
    (typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER)
  );
}

function malformed(reason: string, code: number = INVALID_REQUEST): Malformed {
  return { kind: "malformed", code, reason };
}

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
export const INTERNAL = -32603;
export const NOT_AUTHENTICATED = -32001;

/** An error; `data` is for programs, `message` a sentence for people. */
export type RpcError = { code: number; message: string; data?: unknown };

/** An HTTP answer; `text` null: no body. */
export type RpcAnswer = { status: number; text: string | null };

/** The result of a request; `resultText` is its JSON. */
export function rpcResult(id: RequestId, resultText: string): RpcAnswer {
  return { status: 200, text: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultText}}` };
}

/** A JSON-RPC error; the id is null, too, when the request's own is unknown. */
export function rpcError(status: number, id: RequestId, error: RpcError): RpcAnswer {
  return { status, text: JSON.stringify({ jsonrpc: "2.0", id, error }) };
}

export function sendRpc(reply: FastifyReply, { status, text }: RpcAnswer): FastifyReply {
  reply.code(status);
  return text === null ? reply.send() : reply.type(JSON_TYPE).send(text);
}

/** The JSON of a tools/call result; the text inside is the REST body, byte for byte. */
export function toolResultText(text: string, isError: boolean): string {
  return `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":${isError}}`;
}

/**
 * The body of a tool's refusal or failure, which an agent can read and repair; null for what concerns the caller rather than the
 * call: no valid token, billing or entitlement, a failure before it was known who asks.
 */
export function refusalOf(error: unknown, isAdmitted: boolean): ErrorBody | null {
  if (!(error instanceof ApiError)) {
    return isAdmitted ? errorBody("internal_error", INTERNAL_ERROR_MESSAGE) : null;
  }
  const concernsCaller =
    error.code === "unauthorized" || (error.code === "forbidden" && error.missingScope === null);
  return concernsCaller ? null : errorBody(error.code, error.messageIn(MCP_WORDS));
}

export function readArguments({ endpoint }: Operation, given: JsonObject): RawInput {
  const values = new Map<string, unknown>(Object.entries(given));
  const refusals = new Map<string, string>();
  // Every tool with a selector takes the object, listed or not: a client may have passed a row on as it came.
  if (takesSelector(endpoint)) addSelector(values, refusals);
  return { values, refusals };
}

const SELECTOR_ALLOWED =
  "selector must be the selector object of a list_entities row: {sku}, {product_gid}, or {product_group_type, product_group_key}.";
/** A breakdown row's selector may be a vendor, or narrow another one to it. */
const SHAPES = [...SELECTOR_SHAPES, ["vendor"]];
const SELECTOR_NAMES = new Set([...SHAPES.flat(), "include_used_variants"]);
const LONGEST_SELECTOR_TEXT = 4096;

/** Spreads the selector object over the flat arguments; what both say must agree. */
function addSelector(values: Map<string, unknown>, refusals: Map<string, string>): void {
  const selector = selectorObject(values.get("selector"));
  if (!isGiven(selector)) return;
  const members = isObject(selector) ? selector : {};
  const isKnown = Object.keys(members).every((name) => SELECTOR_NAMES.has(name));
  if (!isKnown || !SHAPES.some((names) => names.every((name) => isGiven(members[name])))) {
    refusals.set("selector", SELECTOR_ALLOWED);
    return;
  }
  for (const name of SELECTOR_NAMES) {
    const member = members[name];
    if (!isGiven(member)) continue;
    const flat = values.get(name);
    if (isGiven(flat) && flat !== member) {
      refusals.set("selector", `selector and ${name} contradict each other: give one of them.`);
    }
    values.set(name, member);
  }
}

/** Some clients write an object out as JSON text. */
function selectorObject(selector: unknown): unknown {
  if (typeof selector !== "string" || selector.length > LONGEST_SELECTOR_TEXT) return selector;
  const parsed = parsedJson(selector);
  return isObject(parsed) ? parsed : selector;
}

/** null and "" count as not given, as everywhere. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

const DEFAULT_VERSION = "2025-06-18";

/** Revisions without a difference for a server with only tools. */
const VERSIONS: ReadonlySet<unknown> = new Set([DEFAULT_VERSION, "2025-11-25"]);

const CAPABILITIES = { tools: {} } as const;
const SERVER_INFO = { name: "returns-analytics", title: SERVER_TITLE, version: API_VERSION } as const;

type MethodOutcome = { resultText: string } | { error: RpcError };

/** The differences between the protocol's revisions. */
type Revision = {
  /** The problem of a message before its method is read, answered with HTTP 400; null: none. */
  refuse: (headers: IncomingHttpHeaders, message: Message) => RpcError | null;
  /** By name, what answers a request that was not refused and that no tool has to run for. */
  methods: ReadonlyMap<string, (params: JsonObject) => MethodOutcome>;
  unknownMethod: { status: 200 | 404; message: string };
  /** The JSON of a result, from the JSON that 2025-06-18 gives. */
  resultText: (resultText: string) => string;
};

/** 2025-06-18 and 2025-11-25: a version is agreed on by `initialize`. */
const LEGACY: Revision = {
  refuse: refuseVersion,
  methods: new Map([
    ["initialize", initialize],
    ["ping", () => ({ resultText: "{}" })],
    ["tools/list", listTools],
    ["tools/call", refuseCall],
  ]),
  unknownMethod: {
    status: 200,
    message: "Unknown method; this server has initialize, ping, tools/list and tools/call.",
  },
  resultText: (resultText) => resultText,
};

/** Asked before a version is agreed on: a newer client falls back by their answers, and would not by a 400. */
const VERSION_FINDING_METHODS: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

function refuseVersion(headers: IncomingHttpHeaders, message: Message): RpcError | null {
  const version = headers["mcp-protocol-version"];
  if (version === undefined || VERSIONS.has(version)) return null;
  if (VERSION_FINDING_METHODS.has(message.method ?? "")) return null;
  const reason = "This MCP-Protocol-Version is not known; send 2025-06-18, or leave the header out.";
  return { code: INVALID_REQUEST, message: reason };
}

/** The answer to a request that needs no tool to run; it does not count towards the daily quota. */
export function answerMethod(revision: Revision, { id, method, params }: Request): RpcAnswer {
  const { methods, unknownMethod } = revision;
  const run = methods.get(method);
  if (run === undefined)
    return rpcError(unknownMethod.status, id, { code: METHOD_NOT_FOUND, message: unknownMethod.message });
  const outcome = isObject(params) ? run(params) : refused(INVALID_PARAMS, "params must be an object.");
  if ("error" in outcome) return rpcError(200, id, outcome.error);
  note({ "mcp.method.name": method });
  return rpcResult(id, revision.resultText(outcome.resultText));
}

/** Every version is answered with one of ours: the client decides whether to continue. */
function initialize(params: JsonObject): MethodOutcome {
  const asked = params["protocolVersion"];
  return {
    resultText: JSON.stringify({
      protocolVersion: VERSIONS.has(asked) ? asked : DEFAULT_VERSION,
      capabilities: CAPABILITIES,
      serverInfo: SERVER_INFO,
      instructions: INSTRUCTIONS,
    }),
  };
}

const TOOL_LIST = JSON.stringify({ tools: TOOLS });

function listTools(params: JsonObject): MethodOutcome {
  const { cursor } = params;
  if (cursor === undefined || cursor === null) return { resultText: TOOL_LIST };
  return refused(INVALID_PARAMS, "tools/list answers on one page: there is no cursor to send.");
}

/** A well-formed call of a known tool never comes here. */
function refuseCall(params: JsonObject): MethodOutcome {
  const { name } = params;
  if (typeof name !== "string") return refused(INVALID_PARAMS, "name must be the name of a tool.");
  const names = TOOLS.map((tool) => tool.name);
  return names.includes(name)
    ? refused(INVALID_PARAMS, "arguments must be an object.")
    : refused(INVALID_PARAMS, `Unknown tool; the tools are ${names.join(", ")}.`);
}

function refused(code: number, message: string): MethodOutcome {
  return { error: { code, message } };
}

/** The revision without a handshake: every request names its version and the client's capabilities. */
const MODERN_VERSION = "2026-07-28";

const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

const VERSION_MEMBER = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_MEMBER = "io.modelcontextprotocol/clientCapabilities";
const SERVER_MEMBER = "io.modelcontextprotocol/serverInfo";

/**
 * The revision of a message. It is 2026-07-28 if its `_meta` has a protocol version, or the header names that revision on
 * anything but `initialize`. Each message is decided separately: some clients send `initialize` after discovery.
 */
export function revisionOf(headers: IncomingHttpHeaders, message: Message): Revision {
  if (message.kind === "request" && Object.hasOwn(metaOf(message), VERSION_MEMBER)) return MODERN;
  const isInitialize = message.method === "initialize";
  return headers["mcp-protocol-version"] === MODERN_VERSION && !isInitialize ? MODERN : LEGACY;
}

const MODERN: Revision = {
  refuse: refuseModern,
  methods: new Map([
    ["server/discover", () => ({ resultText: DISCOVERY })],
    ["tools/list", listCacheableTools],
    ["tools/call", refuseCall],
  ]),
  unknownMethod: {
    status: 404,
    message: "Unknown method; this server has server/discover, tools/list and tools/call.",
  },
  resultText: (resultText) => `{"resultType":"complete",${resultText.slice(1, -1)},"_meta":${RESULT_META}}`,
};

const RESULT_META = JSON.stringify({ [SERVER_MEMBER]: SERVER_INFO });

/** The same for every token; a release may change it. */
const CACHING = { ttlMs: 3_600_000, cacheScope: "public" } as const;

const DISCOVERY = JSON.stringify({
  supportedVersions: [MODERN_VERSION],
  capabilities: CAPABILITIES,
  instructions: INSTRUCTIONS,
  ...CACHING,
});

function listCacheableTools(params: JsonObject): MethodOutcome {
  const outcome = listTools(params);
  if ("error" in outcome) return outcome;
  return { resultText: `${outcome.resultText.slice(0, -1)},${JSON.stringify(CACHING).slice(1)}` };
}

function refuseModern(headers: IncomingHttpHeaders, message: Message): RpcError | null {
  if (message.kind === "request") {
    return refuseModernVersion(headers, message) ?? refuseMeta(message) ?? refuseHeaders(headers, message);
  }
  if (message.method !== null) return null;
  return { code: INVALID_REQUEST, message: "The body must be a request or a notification." };
}

/** An unsupported version comes before all that another version may have changed. */
function refuseModernVersion(headers: IncomingHttpHeaders, message: Request): RpcError | null {
  const requested = metaOf(message)[VERSION_MEMBER];
  if (typeof requested !== "string") return null;
  const header = headers["mcp-protocol-version"];
  const differs = mismatch("MCP-Protocol-Version", `params._meta member ${VERSION_MEMBER}`);
  if (header !== undefined && header !== requested) return differs;
  if (requested === MODERN_VERSION) return header === undefined ? differs : null;
  return {
    code: UNSUPPORTED_VERSION,
    message: `This protocol version is not supported; send ${MODERN_VERSION}, or initialize for an earlier one.`,
    data: { supported: [MODERN_VERSION], requested },
  };
}

function refuseMeta(message: Request): RpcError | null {
  const meta = metaOf(message);
  if (typeof meta[VERSION_MEMBER] !== "string") return missing(VERSION_MEMBER, "a string");
  if (!isObject(meta[CAPABILITIES_MEMBER])) return missing(CAPABILITIES_MEMBER, "an object");
  return null;
}

function refuseHeaders(headers: IncomingHttpHeaders, { method, params }: Request): RpcError | null {
  if (headers["mcp-method"] !== method) return mismatch("Mcp-Method", "method");
  if (method !== "tools/call") return null;
  const { name } = params as JsonObject;
  const expected = typeof name === "string" ? name : null;
  return decodeName(headers["mcp-name"]) === expected ? null : mismatch("Mcp-Name", "params.name");
}

const BASE64_NAME = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/u;

/** The name in the Mcp-Name header, which is Base64 between marks when it is no plain ASCII; null = none. */
function decodeName(header: string | string[] | undefined): string | null {
  if (typeof header !== "string") return null;
  const encoded = BASE64_NAME.exec(header)?.[1];
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8");
}

function metaOf({ params }: Request): JsonObject {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta : {};
}

function missing(member: string, form: string): RpcError {
  return { code: INVALID_PARAMS, message: `params._meta must have ${member}, ${form}.` };
}

function mismatch(header: string, member: string): RpcError {
  return { code: HEADER_MISMATCH, message: `The header ${header} must be the same as the body's ${member}.` };
}

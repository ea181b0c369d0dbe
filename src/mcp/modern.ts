import type { IncomingHttpHeaders } from "node:http";
import { INSTRUCTIONS } from "../contract/tools.ts";
import { INVALID_REQUEST, isObject } from "./message.ts";
import type { JsonObject, Malformed, Message, Request } from "./message.ts";
import { CAPABILITIES, SERVER_INFO, listTools, refuseCall } from "./methods.ts";
import type { Outcome, Revision } from "./methods.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "./reply.ts";
import type { RpcError } from "./reply.ts";

/** The revision without a handshake: every request names its version and what the client is capable of. */
export const MODERN_VERSION = "2026-07-28";

const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

const VERSION_MEMBER = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_MEMBER = "io.modelcontextprotocol/clientCapabilities";
const SERVER_MEMBER = "io.modelcontextprotocol/serverInfo";

/**
 * Whether a message is of revision 2026-07-28: its `_meta` has a protocol version, or the header names that revision on
 * anything but `initialize`. Each message is decided separately: some clients send `initialize` after discovery.
 */
export function isModern(headers: IncomingHttpHeaders, message: Message | Malformed): boolean {
  if (message.kind === "request" && Object.hasOwn(metaOf(message), VERSION_MEMBER)) return true;
  const isInitialize = message.kind !== "malformed" && message.method === "initialize";
  return headers["mcp-protocol-version"] === MODERN_VERSION && !isInitialize;
}

export const MODERN: Revision = {
  refuse: refuseModern,
  run: runMethod,
  unknownMethodStatus: 404,
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

const METHODS: ReadonlyMap<string, (params: JsonObject) => Outcome> = new Map([
  ["server/discover", () => ({ resultText: DISCOVERY })],
  ["tools/list", listCacheableTools],
  ["tools/call", refuseCall],
]);

function listCacheableTools(params: JsonObject): Outcome {
  const outcome = listTools(params);
  if ("error" in outcome) return outcome;
  return { resultText: `${outcome.resultText.slice(0, -1)},${JSON.stringify(CACHING).slice(1)}` };
}

function runMethod({ method, params }: Request): Outcome {
  const run = METHODS.get(method);
  if (run !== undefined) return run(params as JsonObject);
  const message = "Unknown method; this server has server/discover, tools/list and tools/call.";
  return { error: { code: METHOD_NOT_FOUND, message } };
}

function refuseModern(headers: IncomingHttpHeaders, message: Message): RpcError | null {
  if (message.kind === "request") {
    return refuseVersion(headers, message) ?? refuseMeta(message) ?? refuseHeaders(headers, message);
  }
  if (message.method !== null) return null;
  return { code: INVALID_REQUEST, message: "The body must be a request or a notification." };
}

/** An unsupported version comes before all that another version may have changed. */
function refuseVersion(headers: IncomingHttpHeaders, message: Request): RpcError | null {
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

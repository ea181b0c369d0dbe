import type { IncomingHttpHeaders } from "node:http";
import { INSTRUCTIONS, SERVER_TITLE, TOOLS } from "../contract/tools.ts";
import { API_VERSION } from "../contract/endpoint.ts";
import { INVALID_PARAMS, INVALID_REQUEST, isObject, METHOD_NOT_FOUND } from "./message.ts";
import type { JsonObject, Message, Request, RpcError } from "./message.ts";

const DEFAULT_VERSION = "2025-06-18";

/** Revisions that do not differ for a server of tools alone. */
const VERSIONS: ReadonlySet<unknown> = new Set([DEFAULT_VERSION, "2025-11-25"]);

export const CAPABILITIES = { tools: {} } as const;
export const SERVER_INFO = { name: "returns-analytics", title: SERVER_TITLE, version: API_VERSION } as const;

export type MethodOutcome = { resultText: string } | { error: RpcError };

/** What differs between the protocol's revisions. */
export type Revision = {
  /** What is wrong with a message before its method is looked at, answered with HTTP 400; null = nothing. */
  refuse: (headers: IncomingHttpHeaders, message: Message) => RpcError | null;
  /** By name, what answers a request that was not refused and that no tool has to run for. */
  methods: ReadonlyMap<string, (params: JsonObject) => MethodOutcome>;
  unknownMethod: { status: 200 | 404; message: string };
  /** The JSON of a result, from the JSON that 2025-06-18 gives. */
  resultText: (resultText: string) => string;
};

/** 2025-06-18 and 2025-11-25: a version is agreed on by `initialize`. */
export const LEGACY: Revision = {
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

export function runMethod({ methods, unknownMethod }: Revision, { method, params }: Request): MethodOutcome {
  const run = methods.get(method);
  if (run === undefined) return refused(METHOD_NOT_FOUND, unknownMethod.message);
  return isObject(params) ? run(params) : refused(INVALID_PARAMS, "params must be an object.");
}

/** Every version is answered with one of ours: the client decides whether to go on. */
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

export function listTools(params: JsonObject): MethodOutcome {
  const { cursor } = params;
  if (cursor === undefined || cursor === null) return { resultText: TOOL_LIST };
  return refused(INVALID_PARAMS, "tools/list answers on one page: there is no cursor to send.");
}

/** A well-formed call of a known tool never comes here. */
export function refuseCall(params: JsonObject): MethodOutcome {
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

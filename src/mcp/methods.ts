import { INSTRUCTIONS, SERVER_TITLE, TOOLS } from "../contract/tools.ts";
import { API_VERSION } from "../contract/version.ts";
import { isObject } from "./message.ts";
import type { Malformed, Message, Request } from "./message.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "./reply.ts";

const DEFAULT_VERSION = "2025-06-18";

/** Revisions that do not differ for a server of tools alone. */
const VERSIONS: ReadonlySet<unknown> = new Set([DEFAULT_VERSION, "2025-11-25"]);

export type Outcome = { resultText: string } | { error: { code: number; message: string } };

/** Asked before a version is agreed on: a newer client falls back by their answers, and would not by a 400. */
const VERSION_FINDING_METHODS: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

/** Whether the MCP-Protocol-Version header lets a message pass. */
export function isKnownVersion(header: string | string[] | undefined, message: Message | Malformed): boolean {
  if (header === undefined || VERSIONS.has(header)) return true;
  return message.kind !== "malformed" && VERSION_FINDING_METHODS.has(message.method ?? "");
}

/** Answers a request that no tool has to run for. */
export function runMethod({ method, params }: Request): Outcome {
  const run = METHODS.get(method);
  if (run === undefined) {
    return refused(
      METHOD_NOT_FOUND,
      "Unknown method; this server has initialize, ping, tools/list and tools/call.",
    );
  }
  return isObject(params) ? run(params) : refused(INVALID_PARAMS, "params must be an object.");
}

const METHODS: ReadonlyMap<string, (params: Record<string, unknown>) => Outcome> = new Map([
  ["initialize", initialize],
  ["ping", () => ({ resultText: "{}" })],
  ["tools/list", listTools],
  ["tools/call", refuseCall],
]);

/** Every version is answered with one of ours: the client decides whether to go on. */
function initialize(params: Record<string, unknown>): Outcome {
  const asked = params["protocolVersion"];
  return {
    resultText: JSON.stringify({
      protocolVersion: VERSIONS.has(asked) ? asked : DEFAULT_VERSION,
      capabilities: { tools: {} },
      serverInfo: { name: "returns-analytics", title: SERVER_TITLE, version: API_VERSION },
      instructions: INSTRUCTIONS,
    }),
  };
}

const TOOL_LIST = JSON.stringify({ tools: TOOLS });

function listTools(params: Record<string, unknown>): Outcome {
  const { cursor } = params;
  if (cursor === undefined || cursor === null) return { resultText: TOOL_LIST };
  return refused(INVALID_PARAMS, "tools/list answers on one page: there is no cursor to send.");
}

/** A well-formed call of a known tool never comes here. */
function refuseCall(params: Record<string, unknown>): Outcome {
  const { name } = params;
  if (typeof name !== "string") return refused(INVALID_PARAMS, "name must be the name of a tool.");
  const names = TOOLS.map((tool) => tool.name);
  return names.includes(name)
    ? refused(INVALID_PARAMS, "arguments must be an object.")
    : refused(INVALID_PARAMS, `Unknown tool; the tools are ${names.join(", ")}.`);
}

function refused(code: number, message: string): Outcome {
  return { error: { code, message } };
}

import type { Target } from "./clients.ts";
import { load } from "./packages.ts";

type Schema = { parse(value: unknown): unknown };
type Schemas = Record<
  | "JSONRPCResultResponseSchema"
  | "JSONRPCErrorResponseSchema"
  | "InitializeResultSchema"
  | "EmptyResultSchema"
  | "ListToolsResultSchema"
  | "CallToolResultSchema"
  | "DiscoverResultSchema",
  Schema
>;

type Exchange = { method: string; params?: object; result: keyof Schemas | null };

const INITIALIZE = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "conformance", version: "1.0.0" },
};

/** Every kind of answer to a request; `result` null = a JSON-RPC error. */
const EXCHANGES: readonly Exchange[] = [
  { method: "initialize", params: INITIALIZE, result: "InitializeResultSchema" },
  { method: "ping", result: "EmptyResultSchema" },
  { method: "tools/list", result: "ListToolsResultSchema" },
  { method: "tools/call", params: { name: "list_entities" }, result: "CallToolResultSchema" },
  { method: "tools/call", params: { name: "get_summary" }, result: "CallToolResultSchema" },
  { method: "tools/call", params: { name: "unknown" }, result: null },
  { method: "server/discover", result: null },
];

/** The same of revision 2026-07-28. */
const MODERN_EXCHANGES: readonly Exchange[] = [
  { method: "server/discover", result: "DiscoverResultSchema" },
  { method: "tools/list", result: "ListToolsResultSchema" },
  { method: "tools/call", params: { name: "list_entities" }, result: "CallToolResultSchema" },
  { method: "tools/call", params: { name: "get_summary" }, result: "CallToolResultSchema" },
  { method: "tools/call", params: { name: "unknown" }, result: null },
  { method: "ping", result: null },
];

const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": INITIALIZE.clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Holds answers to the protocol's published schemas; throws at the first that breaks one. */
export async function checkWireSchemas(target: Target): Promise<string> {
  const schemas = await load<Schemas>("@modelcontextprotocol/core");
  for (const { method, params, result } of EXCHANGES) {
    checkAnswer(await ask(target, { method, params }, {}), schemas, result);
  }
  for (const { method, params = {}, result } of MODERN_EXCHANGES) {
    const headers: Record<string, string> = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
    if ("name" in params) headers["mcp-name"] = String(params.name);
    const request = { method, params: { ...params, _meta: MODERN_META } };
    checkAnswer(await ask(target, request, headers), schemas, result);
  }
  return `${EXCHANGES.length} and ${MODERN_EXCHANGES.length} answers as published`;
}

async function ask(
  { url, token }: Target,
  request: { method: string; params?: object | undefined },
  headers: Record<string, string>,
): Promise<{ result?: unknown }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: request.method, ...request }),
  });
  return (await response.json()) as { result?: unknown };
}

function checkAnswer(message: { result?: unknown }, schemas: Schemas, result: keyof Schemas | null): void {
  if (result === null) {
    schemas.JSONRPCErrorResponseSchema.parse(message);
    return;
  }
  schemas.JSONRPCResultResponseSchema.parse(message);
  schemas[result].parse(message.result);
}

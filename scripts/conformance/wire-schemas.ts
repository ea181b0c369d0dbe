import type { Target } from "./clients.ts";
import { load } from "./packages.ts";

type Schema = { parse(value: unknown): unknown };
type Schemas = Record<
  | "JSONRPCResultResponseSchema"
  | "JSONRPCErrorResponseSchema"
  | "InitializeResultSchema"
  | "EmptyResultSchema"
  | "ListToolsResultSchema"
  | "CallToolResultSchema",
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

/** Holds answers to the protocol's published schemas; throws at the first that breaks one. */
export async function checkWireSchemas({ url, token }: Target): Promise<string> {
  const schemas = await load<Schemas>("@modelcontextprotocol/core");
  for (const { method, params, result } of EXCHANGES) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: method, method, params }),
    });
    const message = (await response.json()) as { result?: unknown };
    if (result === null) {
      schemas.JSONRPCErrorResponseSchema.parse(message);
    } else {
      schemas.JSONRPCResultResponseSchema.parse(message);
      schemas[result].parse(message.result);
    }
  }
  return `${EXCHANGES.length} answers as published`;
}

import assert from "node:assert/strict";
import pino from "pino";
import { createHttpMetrics } from "../../src/http/metrics.ts";
import { createServer, type ServerOptions } from "../../src/http/server.ts";
import { checkCommonHeaders, send, type WireAnswer } from "./service.ts";

export type McpAnswer = WireAnswer & {
  /** The JSON-RPC message of the body. */
  message: {
    jsonrpc: string;
    id: unknown;
    result?: Record<string, unknown> & { content?: { type: string; text: string }[]; isError?: boolean };
    error?: { code: number; message: string; data?: unknown };
  };
};

export type RpcOptions = { token?: string; headers?: Record<string, string> };

export const MCP_PATH = "/api/v1/mcp";

/** Posts a body to the MCP endpoint (an object as JSON, text and bytes as they are). */
export async function post(address: string, body: unknown, options: RpcOptions = {}): Promise<McpAnswer> {
  const answer = await send(`${address}${MCP_PATH}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "accept-encoding": "identity",
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  const { status, headers, text } = answer;
  checkCommonHeaders(answer, `${status}: ${text.slice(0, 300)}`);
  if (status === 202) {
    assert.equal(text, "");
    return { ...answer, message: { jsonrpc: "2.0", id: undefined } };
  }
  assert.equal(headers.get("content-type"), "application/json; charset=utf-8");
  return { ...answer, message: JSON.parse(text) as McpAnswer["message"] };
}

/** A request with the id 1. */
export function rpc(method: string, params?: Record<string, unknown>): Record<string, unknown> {
  return { jsonrpc: "2.0", id: 1, method, ...(params === undefined ? {} : { params }) };
}

export function toolCall(name: string, values: unknown = {}): Record<string, unknown> {
  return rpc("tools/call", { name, arguments: values });
}

export const MODERN_VERSION = "2026-07-28";

/** The `_meta` of a request of revision 2026-07-28; a member given as undefined is left out. */
export function modernMeta(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "tests", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
    ...members,
  };
}

/** The headers that revision 2026-07-28 asks for beside a request; undefined leaves one out. */
export function modernHeaders(
  method: string,
  name?: string,
  others: Record<string, string | undefined> = {},
): Record<string, string> {
  const headers = {
    "mcp-protocol-version": MODERN_VERSION,
    "mcp-method": method,
    "mcp-name": name,
    ...others,
  };
  const given = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return Object.fromEntries(given);
}

/** The single text of a tool's result, after a check of its form. */
export function toolText({ status, message }: McpAnswer): { text: string; isError: boolean } {
  assert.equal(status, 200);
  assert.equal(message.error, undefined, JSON.stringify(message.error));
  assert.deepEqual(Object.keys(message), ["jsonrpc", "id", "result"]);
  const { content = [], isError } = message.result ?? {};
  assert.deepEqual(Object.keys(message.result ?? {}), ["content", "isError"]);
  assert.equal(content.length, 1);
  assert.equal(content[0]?.type, "text");
  return { text: content[0].text, isError: isError === true };
}

/** The error body of a tool's result that is one. */
export function toolError(answer: McpAnswer): { code: string; message: string } {
  const { text, isError } = toolText(answer);
  assert.equal(isError, true, text.slice(0, 300));
  return (JSON.parse(text) as { error: { code: string; message: string } }).error;
}

/** Expects a JSON-RPC error with a sentence as message. */
export function expectError(answer: McpAnswer, status: number, code: number, id: unknown): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(Object.keys(answer.message), ["jsonrpc", "id", "error"]);
  assert.equal(answer.message.jsonrpc, "2.0");
  assert.equal(answer.message.id, id);
  assert.equal(answer.message.error?.code, code, answer.text);
  assert.match(answer.message.error?.message ?? "", /\w .*\.$/su, "a sentence");
}

/** A server with only these operations and routes, while `use` runs. */
export async function withServer(
  given: Pick<ServerOptions, "operations" | "routeGroups">,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const server = createServer({
    ...given,
    logger: pino({ level: "silent" }),
    metrics: createHttpMetrics(),
    notFoundPage: null,
    registerOperationsRoutes: null,
  });
  try {
    await use(await server.listen({ host: "127.0.0.1", port: 0 }));
  } finally {
    await server.close();
  }
}

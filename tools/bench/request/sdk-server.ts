/**
 * The floor of MCP: a server written with the official SDK that answers every tools/call with the same fixed bytes as
 * JSON and checks nothing. node sdk-server.ts serve <way> <file>: the file holds the text of the answer; the way is
 * "stateless", a server and a transport for each request as the SDK has it for servers without sessions (ours is one),
 * or "session", one session for all connections, which is the least that the SDK can do.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [, , , way, file = ""] = process.argv;
const text = readFileSync(file, "utf8");
const session = way === "session" ? await openTransport(randomUUID) : null;
const server = createServer((request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ address: `http://127.0.0.1:${port}` }));
});
process.once("SIGTERM", () => process.exit(0));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = session ?? (await openTransport(null));
  if (session === null) response.on("close", () => void transport.close());
  await transport.handleRequest(request, response);
}

async function openTransport(
  sessionIdGenerator: (() => string) | null,
): Promise<StreamableHTTPServerTransport> {
  const mcp = new Server({ name: "fixed", version: "1" }, { capabilities: { tools: {} } });
  mcp.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: "text", text }], isError: false }));
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse: true,
    ...(sessionIdGenerator === null ? {} : { sessionIdGenerator }),
  });
  await mcp.connect(transport);
  return transport;
}

/**
 * Tests the MCP endpoint with the official conformance runner (2025-06-18 and 2026-07-28, each with a baseline of what a
 * server with only tools lacks) and with third-party clients: npm run conformance
 */
import { createServer, request as startRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { TOOLS } from "../../src/contract/tools.ts";
import { formatTable } from "../../src/lib/table.ts";
import { joinEmbedded } from "../../src/embedded/embedded.ts";
import { createTemplate } from "../../tests/support/database.ts";
import { makeFolder } from "../../tests/support/folder.ts";
import { startTestService } from "../../tests/support/service.ts";
import { seedSmallStore } from "../../tests/support/small-store.ts";
import { createTenant } from "../../tests/support/tenants.ts";
import { REAL_CLIENTS, installed, runNode, load } from "./clients.ts";
import type { RealClient, Target, ToolCall } from "./clients.ts";

type Outcome = { name: string; passed: boolean; seconds: number; note: string };

/** A revision, its runner, and the baseline of expected failures. */
type Suite = { version: string; runner: string; flags: readonly string[]; baseline: string };

const SUITES: readonly Suite[] = [
  {
    version: "2025-06-18",
    runner: "@modelcontextprotocol/conformance/dist/index.js",
    flags: [],
    baseline: "conformance-baseline.yml",
  },
  {
    version: "2026-07-28",
    runner: "mcp-conformance-2026-07-28/dist/index.js",
    flags: ["--suite", "all"],
    baseline: "conformance-baseline-2026-07-28.yml",
  },
];
const CALLS: readonly ToolCall[] = [
  { tool: "list_entities", values: { q: "jacket", limit: 2 } },
  { tool: "get_summary", values: { start_month: "2026-01", end_month: "2026-03", sku: "JACKET-M" } },
];

async function main(): Promise<number> {
  const embedded = await joinEmbedded({ dataFolder: makeFolder(), log: () => {} });
  try {
    process.env["RETURNS_TEST_DATABASE_URL"] = embedded.url;
    await createTemplate(embedded.url);
    const outcomes = await runOnService();
    const rows = outcomes.map(({ name, passed, seconds, note }) => [
      passed ? "ok" : "FAILED",
      name,
      `${seconds.toFixed(1)} s`,
      note,
    ]);
    process.stdout.write(formatTable(["outcome", "client", "took", "note"], rows));
    return outcomes.every(({ passed }) => passed) ? 0 : 1;
  } finally {
    await embedded.release();
  }
}

async function runOnService(): Promise<Outcome[]> {
  const proxy = await startBearerProxy();
  const service = await startTestService();
  try {
    const { shopKey, token } = await createTenant(service.database);
    await seedSmallStore(service.database, shopKey);
    proxy.forwardTo(service.address, token);
    const target: Target = { url: `${proxy.address}/api/v1/mcp`, token };
    const outcomes: Outcome[] = [];
    for (const suite of SUITES) {
      outcomes.push(
        await timed(`official runner, ${suite.version}`, () => runConformance(suite, proxy.address)),
      );
    }
    outcomes.push(await timed("published schemas", () => checkWireSchemas(target)));
    for (const client of REAL_CLIENTS) {
      outcomes.push(
        await timed(client.name, async () => {
          const note = await checkClient(client, target, service.address);
          const version = proxy.lastVersion();
          if (version !== client.version) throw new Error(`it spoke ${version}, not ${client.version}`);
          return `${note} at ${version}`;
        }),
      );
    }
    return outcomes;
  } finally {
    proxy.stop();
    await service.stop();
  }
}

/** The runner sends no token, so it speaks to the service through a proxy that adds one. */
async function runConformance({ version, runner, flags, baseline }: Suite, address: string): Promise<string> {
  const baselineFile = join(import.meta.dirname, "../../tests/mcp", baseline);
  const server = ["server", "--url", `${address}/api/v1/mcp`, "--spec-version", version];
  const words = [installed(runner), ...server, "--expected-failures", baselineFile, ...flags];
  const { code, output, errors } = await runNode(words, process.env);
  if (code !== 0) throw new Error(`exit code ${code}\n${output}${errors}`);
  return `${/Total: (.*)/u.exec(output)?.[1]}, as in the baseline`;
}

/** Each client must see every tool, and get the same bytes as from REST. */
async function checkClient(client: RealClient, target: Target, address: string): Promise<string> {
  const seen = await client.use(target, CALLS);
  const names = TOOLS.map((tool) => tool.name);
  if (names.some((name) => !seen.tools.includes(name)) || seen.tools.length !== names.length) {
    throw new Error(`it saw other tools: ${seen.tools.join(", ")}`);
  }
  for (const { tool, values } of CALLS) {
    const path = tool === "get_summary" ? "summary" : "entities";
    const query = new URLSearchParams(values as Record<string, string>);
    const response = await fetch(`${address}/api/v1/${path}?${query.toString()}`, {
      headers: { authorization: `Bearer ${target.token}` },
    });
    if (seen.text(tool) !== (await response.text())) throw new Error(`${tool} differs from REST`);
  }
  return `${seen.tools.length} tools listed, ${CALLS.length} called`;
}

async function timed(name: string, work: () => Promise<string>): Promise<Outcome> {
  const startedAt = performance.now();
  const outcome = await work().then(
    (note) => ({ passed: true, note }),
    (error: unknown) => ({ passed: false, note: String(error) }),
  );
  return { name, ...outcome, seconds: (performance.now() - startedAt) / 1000 };
}

type BearerProxy = {
  address: string;
  /** Sets the address and token of further requests. */
  forwardTo(serviceAddress: string, token: string): void;
  /** The MCP-Protocol-Version of the last request; null = it had none. */
  lastVersion(): string | null;
  stop(): void;
};

/** Starts a proxy that adds a bearer token and changes nothing else: Host and Origin reach the service as sent. */
async function startBearerProxy(): Promise<BearerProxy> {
  let target = { hostname: "", port: "", token: "" };
  let version: string | null = null;
  const server = createServer((incoming, outgoing) => {
    const { hostname, port, token } = target;
    const { method, url: path, headers } = incoming;
    if (method === "POST") version = headers["mcp-protocol-version"]?.toString() ?? null;
    const onward = startRequest({
      hostname,
      port,
      method,
      path,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address,
    forwardTo: (serviceAddress, token) => {
      const { hostname, port } = new URL(serviceAddress);
      target = { hostname, port, token };
    },
    lastVersion: () => version,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

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

/** Checks answers against the protocol's published schemas; throws at the first that breaks one. */
async function checkWireSchemas(target: Target): Promise<string> {
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

process.exitCode = await main();

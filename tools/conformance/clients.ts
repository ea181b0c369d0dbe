import { spawn } from "node:child_process";
import { join } from "node:path";
import { makeFolder } from "../../tests/support/folder.ts";

/** The service's MCP address, and a token. */
export type Target = { url: string; token: string };

/** What a client saw: the tools by name, and the text of each call's result. */
type Seen = { tools: string[]; text: (tool: string) => string };

/** A third-party client, and the revision that it uses here: it lists the tools, then makes the given calls. */
export type RealClient = {
  name: string;
  version: string;
  use(target: Target, calls: readonly ToolCall[]): Promise<Seen>;
};

export type ToolCall = { tool: string; values: Record<string, unknown> };

const MODERN_VERSION = "2026-07-28";
const LEGACY_VERSION = "2025-11-25";

export const REAL_CLIENTS: readonly RealClient[] = [
  { name: "SDK 1.x", version: LEGACY_VERSION, use: useFirstSdk },
  {
    name: "SDK 2.x",
    version: LEGACY_VERSION,
    use: (target, calls) => useSecondSdk(target, calls, "legacy"),
  },
  {
    name: "SDK 2.x, probing for newer revisions",
    version: MODERN_VERSION,
    use: (target, calls) => useSecondSdk(target, calls, "auto"),
  },
  {
    name: "SDK 2.x, pinned",
    version: MODERN_VERSION,
    use: (target, calls) => useSecondSdk(target, calls, { pin: MODERN_VERSION }),
  },
  {
    name: "Inspector CLI, strict about schemas",
    version: LEGACY_VERSION,
    use: (target, calls) => useInspector(target, calls, "legacy"),
  },
  {
    name: "Inspector CLI, pinned",
    version: MODERN_VERSION,
    use: (target, calls) => useInspector(target, calls, "modern"),
  },
  { name: "mcp-remote", version: LEGACY_VERSION, use: useRemote },
  { name: "AI SDK", version: MODERN_VERSION, use: useAiSdk },
];

type CallResult = { content: { type: string; text?: string }[]; isError?: boolean };

/** The part of both SDKs' clients that is used here. */
type SdkClient = {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<CallResult>;
  close(): Promise<void>;
};
type SdkModule = {
  Client: new (info: { name: string; version: string }, options?: object) => SdkClient;
  StreamableHTTPClientTransport: new (url: URL, options: object) => unknown;
  StdioClientTransport: new (options: object) => unknown;
};

const CLIENT_INFO = { name: "conformance", version: "1.0.0" };

async function useFirstSdk({ url, token }: Target, calls: readonly ToolCall[]): Promise<Seen> {
  const { Client } = await load<SdkModule>("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await load<SdkModule>(
    "@modelcontextprotocol/sdk/client/streamableHttp.js",
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: bearer(token) },
  });
  return useSdk(new Client(CLIENT_INFO), transport, calls);
}

async function useSecondSdk(
  { url, token }: Target,
  calls: readonly ToolCall[],
  mode: "legacy" | "auto" | { pin: string },
): Promise<Seen> {
  const sdk = await load<SdkModule>("@modelcontextprotocol/client");
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: bearer(token) },
  });
  return useSdk(new sdk.Client(CLIENT_INFO, { versionNegotiation: { mode } }), transport, calls);
}

/** mcp-remote makes the service available over standard input and output, to which the SDK connects. */
async function useRemote({ url, token }: Target, calls: readonly ToolCall[]): Promise<Seen> {
  const { Client } = await load<SdkModule>("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load<SdkModule>("@modelcontextprotocol/sdk/client/stdio.js");
  const flags = ["--transport", "http-only", "--header", `Authorization:${bearer(token).authorization}`];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [installed("mcp-remote/dist/proxy.js"), url, ...flags],
    env: { ...process.env, MCP_REMOTE_CONFIG_DIR: makeFolder() },
    stderr: "ignore",
  });
  return useSdk(new Client(CLIENT_INFO), transport, calls);
}

async function useSdk(client: SdkClient, transport: unknown, calls: readonly ToolCall[]): Promise<Seen> {
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    return await seen(tools, calls, ({ tool, values }) => client.callTool({ name: tool, arguments: values }));
  } finally {
    await client.close();
  }
}

const INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

async function useInspector(
  { url, token }: Target,
  calls: readonly ToolCall[],
  era: "legacy" | "modern",
): Promise<Seen> {
  const env = { ...process.env, HOME: makeFolder() };
  const authorization = `Authorization: ${bearer(token).authorization}`;
  const flags = ["--transport", "http", "--header", authorization, "--protocol-era", era];
  const inspect = async <Result>(...methodArguments: string[]): Promise<Result> => {
    const { code, output, errors } = await runNode(
      [installed(INSPECTOR), "--cli", "--server-url", url, ...flags, "--method", ...methodArguments],
      env,
    );
    if (code !== 0) throw new Error(`exit code ${code}: ${errors}${output}`);
    return JSON.parse(output) as Result;
  };
  const { tools } = await inspect<{ tools: { name: string }[] }>("tools/list", "--strict");
  return seen(tools, calls, ({ tool, values }) => {
    const pairs = Object.entries(values).map(([name, value]) => ["--tool-arg", `${name}=${String(value)}`]);
    return inspect<CallResult>("tools/call", "--tool-name", tool, ...pairs.flat());
  });
}

type AiTool = { execute(values: unknown, options: unknown): Promise<CallResult> };
type AiSdk = {
  createMCPClient(options: object): Promise<{
    tools(): Promise<Record<string, AiTool>>;
    close(): Promise<void>;
  }>;
};

async function useAiSdk({ url, token }: Target, calls: readonly ToolCall[]): Promise<Seen> {
  const sdk = await load<AiSdk>("@ai-sdk/mcp");
  const client = await sdk.createMCPClient({ transport: { type: "http", url, headers: bearer(token) } });
  try {
    const tools = await client.tools();
    const names = Object.keys(tools).map((name) => ({ name }));
    return await seen(names, calls, ({ tool, values }) =>
      tools[tool]?.execute(values, { toolCallId: tool, messages: [] }),
    );
  } finally {
    await client.close();
  }
}

async function seen(
  tools: { name: string }[],
  calls: readonly ToolCall[],
  call: (one: ToolCall) => Promise<CallResult> | undefined,
): Promise<Seen> {
  const results = new Map<string, CallResult | undefined>();
  for (const one of calls) results.set(one.tool, await call(one));
  return {
    tools: tools.map((tool) => tool.name),
    text: (tool) => {
      const result = results.get(tool);
      const text = result?.content[0]?.text;
      if (text === undefined || result?.isError === true) throw new Error(`${tool} answered ${text}`);
      return text;
    },
  };
}

function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

const TIMEOUT_MS = 60_000;

/** Imports by a name that is only known at run time: only these scripts use the packages. */
export async function load<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module;
}

/** A file of an installed package. */
export function installed(path: string): string {
  return join(import.meta.dirname, "../../node_modules", path);
}

/** Runs a script on this Node.js to its end; if it hangs, it is killed and has no exit code. */
export async function runNode(
  scriptArguments: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawn(process.execPath, scriptArguments, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  clearTimeout(timer);
  return { code, output, errors };
}

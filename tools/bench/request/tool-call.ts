import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { summary } from "../../../src/contract/summary.ts";
import type { BenchContext } from "../context.ts";
import type { BenchRow, Spread } from "../measure.ts";
import { compare, SPREAD, startLikeService, startService } from "../servers.ts";
import { shownSpread } from "../measure.ts";
import type { Comparison, Side, LoadRequest, MeasuredServer } from "../servers.ts";
import { questionOf } from "./questions.ts";

const SDK = join(import.meta.dirname, "sdk-server.ts");
const CONNECTIONS = 32;
const ROUNDS = { rounds: 5, seconds: 3, connections: CONNECTIONS };
const VERSION = "2025-06-18";

/**
 * tools/call of get_summary with every check, beside a server written with the official SDK that has none, and the
 * processor time of it beside GET /summary of the same server.
 */
export async function measureToolCalls(context: BenchContext): Promise<BenchRow[]> {
  const service = await startService(context.environment);
  try {
    const question = questionOf(summary, await context.typical());
    const answered = await fetch(service.address + question.path, { headers: question.headers });
    const file = join(context.folder, "answer.json");
    writeFileSync(file, await answered.text());
    const url = new URL(question.path, service.address);
    const call = rpc("tools/call", {
      name: "get_summary",
      arguments: Object.fromEntries(url.searchParams),
    });
    const own = { server: service, requests: [post("/api/v1/mcp", call, question.headers)] };
    return [
      await besideSdk(own, call, { way: "stateless", file, target: "≥ 5" }),
      await besideSdk(own, call, { way: "session", file, target: "" }),
      cpuRow(await compare(own, { server: service, requests: [question] }, ROUNDS)),
    ];
  } finally {
    await service.stop();
  }
}

async function besideSdk(
  own: Side,
  call: string,
  { way, file, target }: { way: "stateless" | "session"; file: string; target: string },
): Promise<BenchRow> {
  const sdk = await startLikeService(SDK, way, file);
  try {
    const headers: Record<string, string> =
      way === "session" ? { "mcp-session-id": await openSession(sdk) } : {};
    const compared = await compare(own, { server: sdk, requests: [post("/", call, headers)] }, ROUNDS);
    return {
      name: `requests/s of tools/call get_summary; ${CONNECTIONS} connections, ${SPREAD}`,
      value: `${shownSpread(compared.perSecond, 0)}, ${shownMicroseconds(compared.cpuMicroseconds)} of CPU`,
      floor: `${shownSpread(compared.floorPerSecond, 0)}, ${shownMicroseconds(compared.floorCpuMicroseconds)}: official SDK (${way}), same bytes, no checks`,
      ratio: shownSpread(compared.ratio, 1),
      target,
    };
  } finally {
    await sdk.stop();
  }
}

function cpuRow({ cpuMicroseconds, floorCpuMicroseconds }: Comparison): BenchRow {
  return {
    name: "CPU of tools/call get_summary",
    value: shownMicroseconds(cpuMicroseconds),
    floor: `${shownMicroseconds(floorCpuMicroseconds)}: GET /summary, the same answer`,
    ratio: (cpuMicroseconds.median / floorCpuMicroseconds.median).toFixed(2),
    target: "≤ 1.15",
  };
}

function shownMicroseconds({ median }: Spread): string {
  return `${Math.round(median)} µs`;
}

function rpc(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}

function post(path: string, body: string, headers: Record<string, string>): LoadRequest {
  const common = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": VERSION,
  };
  return { method: "POST", path, body, headers: { ...common, ...headers } };
}

async function openSession(sdk: MeasuredServer): Promise<string> {
  const hello = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const { path, body, headers } = post("/", rpc("initialize", hello), {});
  const response = await fetch(sdk.address + path, { method: "POST", body: body ?? "", headers });
  const session = response.headers.get("mcp-session-id");
  if (session === null) throw new Error("the SDK's server opened no session");
  await fetch(sdk.address + path, {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
    headers: { ...headers, "mcp-session-id": session },
  });
  return session;
}

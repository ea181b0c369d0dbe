import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { summary } from "../../src/contract/summary.ts";
import type { BenchContext } from "../context.ts";
import type { LoadedStore } from "../stores/load-store.ts";
import type { BenchRow } from "../table.ts";
import { compare } from "./alternate.ts";
import type { Comparison } from "./alternate.ts";
import { shownSpread } from "./load.ts";
import type { LoadRequest } from "./load.ts";
import { questionOf } from "./questions.ts";
import { SPREAD, startLikeService, startService } from "./server-process.ts";
import type { MeasuredServer } from "./server-process.ts";

const SDK = join(import.meta.dirname, "sdk-server.ts");
const ROUNDS = { rounds: 5, seconds: 3, connections: 32 };
const VERSION = "2025-06-18";

/** tools/call of get_summary with every check, beside a server written with the official SDK that has none. */
export async function measureMcp(context: BenchContext, store: LoadedStore): Promise<BenchRow[]> {
  const service = await startService(context.environment);
  const question = questionOf(summary, store);
  const answered = await fetch(service.address + question.path, { headers: question.headers });
  const file = join(context.folder, "answer.json");
  writeFileSync(file, await answered.text());
  const url = new URL(question.path, service.address);
  const call = rpc("tools/call", { name: "get_summary", arguments: Object.fromEntries(url.searchParams) });
  const own = { server: service, requests: [post("/api/v1/mcp", call, question.headers)] };
  try {
    const rows: BenchRow[] = [];
    for (const [way, target] of [
      ["stateless", "≥ 5"],
      ["session", ""],
    ] as const) {
      context.tell(`Comparing tools/call with the official SDK, ${way}.`);
      const sdk = await startLikeService(SDK, way, file);
      try {
        const headers: Record<string, string> =
          way === "session" ? { "mcp-session-id": await openSession(sdk) } : {};
        const compared = await compare(own, { server: sdk, requests: [post("/", call, headers)] }, ROUNDS);
        rows.push(rowOf(way, compared, target));
      } finally {
        await sdk.stop();
      }
    }
    return rows;
  } finally {
    await service.stop();
  }
}

function rowOf(way: string, compared: Comparison, target: string): BenchRow {
  const { perSecond, floorPerSecond, ratio, cpuMicroseconds, floorCpuMicroseconds } = compared;
  return {
    name: `requests/s of tools/call get_summary; 32 connections, ${SPREAD}`,
    value: `${shownSpread(perSecond, 0)}, ${Math.round(cpuMicroseconds.median)} µs of CPU`,
    floor: `${shownSpread(floorPerSecond, 0)}, ${Math.round(floorCpuMicroseconds.median)} µs: official SDK (${way}), same bytes, no checks`,
    ratio: shownSpread(ratio, 1),
    target,
  };
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

import { spawn } from "node:child_process";
import { Agent, request } from "node:http";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { BenchRow } from "./table.ts";

const PROJECT = resolve(import.meta.dirname, "..");
const ROUNDS = 8;
const REQUESTS_PER_ROUND = 1500;
const CONNECTIONS = 8;
const QUERY = { start_month: "2010-12", end_month: "2011-12", window: "lifetime" };

type Target = { address: string; token: string };

/**
 * CPU seconds of the server per answered request, tools/call of get_summary against GET /summary with the same answer,
 * in alternating rounds on one server process.
 */
export async function measureToolCall(
  environment: Record<string, string>,
  token: string,
): Promise<BenchRow[]> {
  const server = await startServer(environment);
  try {
    const target = { address: server.address, token };
    await runRound(target, askRest);
    await runRound(target, askTool);
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const restSeconds = await runRound(target, askRest);
      const toolSeconds = await runRound(target, askTool);
      ratios.push(toolSeconds / restSeconds);
    }
    ratios.sort((left, right) => left - right);
    const median = ratios[ROUNDS / 2] ?? 0;
    return [
      {
        name: "CPU of tools/call get_summary",
        value: `${ROUNDS} rounds of ${REQUESTS_PER_ROUND} requests`,
        floor: "GET /summary, the same answer",
        ratio: `${median.toFixed(2)} (${ratios[0]?.toFixed(2)}–${ratios.at(-1)?.toFixed(2)})`,
        target: "≤ 1.15",
      },
    ];
  } finally {
    await server.stop();
  }
}

async function startServer(
  environment: Record<string, string>,
): Promise<{ address: string; stop(): Promise<void> }> {
  const main = join(PROJECT, "src/cli/main.ts");
  const child = spawn(process.execPath, [main, "serve", "--no-demo", "--json"], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((done) => {
    child.on("exit", () => done());
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  let text = "";
  for await (const line of createInterface({ input: child.stdout })) {
    text += line;
    const address = /"address":\s*"([^"]+)"/u.exec(text)?.[1];
    if (address !== undefined) return { address, stop };
  }
  throw new Error("the server did not start");
}

/** Asks a round's requests and returns the CPU seconds the server took for them. */
async function runRound(
  target: Target,
  ask: (target: Target, agent: Agent) => Promise<void>,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const before = await serverCpuSeconds(target.address);
  let left = REQUESTS_PER_ROUND;
  const askInTurn = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await ask(target, agent);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, askInTurn));
  agent.destroy();
  return (await serverCpuSeconds(target.address)) - before;
}

async function serverCpuSeconds(address: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/mu.exec(text)?.[1]);
}

function askRest({ address, token }: Target, agent: Agent): Promise<void> {
  const url = `${address}/api/v1/summary?${new URLSearchParams(QUERY).toString()}`;
  return send(url, { method: "GET", agent, headers: { authorization: `Bearer ${token}` } }, "");
}

function askTool({ address, token }: Target, agent: Agent): Promise<void> {
  const params = { name: "get_summary", arguments: QUERY };
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return send(`${address}/api/v1/mcp`, { method: "POST", agent, headers }, body);
}

type SendOptions = { method: string; agent: Agent; headers: Record<string, string> };

function send(url: string, options: SendOptions, body: string): Promise<void> {
  return new Promise((done, fail) => {
    const sent = request(url, options, (response) => {
      response.resume();
      response.on("end", () => {
        if (response.statusCode === 200) done();
        else fail(new Error(`the server answered ${response.statusCode}`));
      });
    });
    sent.on("error", fail);
    sent.end(body);
  });
}

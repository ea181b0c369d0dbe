/**
 * One round of load, in a process of its own: reads the JSON of a Load, prints that of its Outcome.
 * Without a rate every connection asks as fast as it is answered. With one, requests start at their appointed times
 * whatever the answers take, and a latency runs from the appointed time.
 */
import { createHistogram } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { openConnections } from "./connections.ts";
import type { Connections } from "./connections.ts";
import type { Load, LoadRequest, Outcome } from "./load.ts";

const load = JSON.parse(await text(process.stdin)) as Load;
const outcome =
  load.ratePerSecond === null ? await askFreely(load) : await askPaced(load, load.ratePerSecond);
console.log(JSON.stringify(outcome));

async function askFreely({ address, requests, connections, seconds }: Load): Promise<Outcome> {
  const texts = textsOf(requests, address);
  const pool = await openPool(address, connections);
  const answers = openTally();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let asked = 0;
  const askUntilEnd = (answered: () => void): void => {
    const askedMs = performance.now();
    if (askedMs >= endMs) {
      answered();
      return;
    }
    const request = texts[asked % texts.length] ?? "";
    asked += 1;
    pool.ask(request, (status) => {
      answers.add(status, askedMs);
      // Without its connection a caller could only fail as fast as it can.
      if (status === 0) answered();
      else askUntilEnd(answered);
    });
  };
  await Promise.all(Array.from({ length: connections }, () => new Promise<void>(askUntilEnd)));
  const tookMs = performance.now() - startedMs;
  pool.close();
  return answers.outcome(tookMs);
}

async function askPaced(
  { address, requests, connections, seconds }: Load,
  ratePerSecond: number,
): Promise<Outcome> {
  const texts = textsOf(requests, address);
  const pool = await openPool(address, connections);
  const total = Math.round(ratePerSecond * seconds);
  const answers = openTally();
  const startedMs = performance.now();
  let asked = 0;
  await new Promise<void>((finished) => {
    const timer = setInterval(() => {
      const due = Math.min(total, ((performance.now() - startedMs) / 1000) * ratePerSecond);
      for (; asked < due; asked += 1) {
        const appointedMs = startedMs + (asked / ratePerSecond) * 1000;
        pool.ask(texts[asked % texts.length] ?? "", (status) => {
          answers.add(status, appointedMs);
          if (answers.count() === total) finished();
        });
      }
      if (asked >= total) clearInterval(timer);
    }, 1);
  });
  const tookMs = performance.now() - startedMs;
  pool.close();
  return answers.outcome(tookMs);
}

type Tally = {
  add(status: number, startedMs: number): void;
  count(): number;
  outcome(tookMs: number): Outcome;
};

function openTally(): Tally {
  const latencies = createHistogram();
  let failures = 0;
  return {
    add: (status, startedMs) => {
      latencies.record(Math.max(1, Math.round((performance.now() - startedMs) * 1000)));
      if (status !== 200) failures += 1;
    },
    count: () => latencies.count,
    outcome: (tookMs) => ({
      perSecond: latencies.count / (tookMs / 1000),
      requests: latencies.count,
      failures,
      p50Ms: latencies.percentile(50) / 1000,
      p99Ms: latencies.percentile(99) / 1000,
    }),
  };
}

function openPool(address: string, connections: number): Promise<Connections> {
  const { hostname, port } = new URL(address);
  return openConnections({ hostname, port: Number(port), connections });
}

function textsOf(requests: readonly LoadRequest[], address: string): string[] {
  const { hostname } = new URL(address);
  return requests.map((request) => textOf(request, hostname));
}

function textOf({ method, path, headers, body }: LoadRequest, hostname: string): string {
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: hostname, ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

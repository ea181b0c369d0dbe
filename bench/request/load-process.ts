/**
 * One round of load, in a process of its own: reads the JSON of a Load, prints that of its Outcome.
 * Without a rate every connection asks as fast as it is answered. With one, requests start at their appointed times
 * whatever the answers take, and a latency runs from the appointed time.
 */
import { createHistogram } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import autocannon from "autocannon";
import { openConnections } from "./connections.ts";
import type { Load, LoadRequest, Outcome } from "./load.ts";

const load = JSON.parse(await text(process.stdin)) as Load;
const outcome =
  load.ratePerSecond === null ? await askFreely(load) : await askPaced(load, load.ratePerSecond);
console.log(JSON.stringify(outcome));

async function askFreely({ address, requests, connections, seconds }: Load): Promise<Outcome> {
  const result = await autocannon({ url: address, connections, duration: seconds, requests: [...requests] });
  return {
    perSecond: result.requests.total / result.duration,
    requests: result.requests.total,
    failures: result.non2xx + result.errors + result.timeouts,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}

async function askPaced(
  { address, requests, connections, seconds }: Load,
  ratePerSecond: number,
): Promise<Outcome> {
  const { hostname, port } = new URL(address);
  const texts = requests.map((request) => textOf(request, hostname));
  const pool = await openConnections({ hostname, port: Number(port), connections });
  const total = Math.round(ratePerSecond * seconds);
  const latencies = createHistogram();
  const failed = { count: 0 };
  const startedMs = performance.now();
  let asked = 0;
  await new Promise<void>((finished) => {
    const timer = setInterval(() => {
      const due = Math.min(total, ((performance.now() - startedMs) / 1000) * ratePerSecond);
      for (; asked < due; asked += 1) {
        const appointedMs = startedMs + (asked / ratePerSecond) * 1000;
        pool.ask(texts[asked % texts.length] ?? "", (status) => {
          latencies.record(Math.max(1, Math.round((performance.now() - appointedMs) * 1000)));
          if (status !== 200) failed.count += 1;
          if (latencies.count === total) finished();
        });
      }
      if (asked >= total) clearInterval(timer);
    }, 1);
  });
  const perSecond = total / ((performance.now() - startedMs) / 1000);
  pool.close();
  return {
    perSecond,
    requests: total,
    failures: failed.count,
    p50Ms: latencies.percentile(50) / 1000,
    p99Ms: latencies.percentile(99) / 1000,
  };
}

function textOf({ method, path, headers, body }: LoadRequest, hostname: string): string {
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: hostname, ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

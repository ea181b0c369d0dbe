/**
 * One round of load, in a process of its own: reads the JSON of a Load, prints that of its Outcome.
 * Without a rate every connection asks as fast as it is answered. With one, requests start at their appointed times
 * whatever the answers take, and a latency runs from the appointed time.
 */
import { Agent, request as send } from "node:http";
import { text } from "node:stream/consumers";
import autocannon from "autocannon";
import type { Load, Outcome } from "./load.ts";

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
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const total = Math.round(ratePerSecond * seconds);
  const latenciesMs: number[] = [];
  let failures = 0;
  const startedMs = performance.now();
  const ask = (number: number): Promise<void> =>
    new Promise((done) => {
      const { method, path, headers, body } = requests[number % requests.length] as Load["requests"][number];
      const appointedMs = startedMs + (number / ratePerSecond) * 1000;
      const asked = send(`${address}${path}`, { method, headers, agent }, (response) => {
        response.resume();
        response.on("end", () => {
          latenciesMs.push(performance.now() - appointedMs);
          if (response.statusCode !== 200) failures += 1;
          done();
        });
      });
      asked.on("error", () => {
        failures += 1;
        done();
      });
      asked.end(body);
    });
  const asked: Promise<void>[] = [];
  await new Promise<void>((finished) => {
    const timer = setInterval(() => {
      const due = Math.min(total, ((performance.now() - startedMs) / 1000) * ratePerSecond);
      while (asked.length < due) asked.push(ask(asked.length));
      if (asked.length < total) return;
      clearInterval(timer);
      finished();
    }, 1);
  });
  await Promise.all(asked);
  agent.destroy();
  latenciesMs.sort((left, right) => left - right);
  const quantile = (share: number): number =>
    latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN;
  return {
    perSecond: latenciesMs.length / ((performance.now() - startedMs) / 1000),
    requests: total,
    failures,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  };
}

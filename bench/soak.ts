import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import autocannon from "autocannon";
import type { BenchContext } from "./context.ts";
import { shownNumber } from "./measure.ts";
import { loadStore } from "./stores/load-store.ts";
import type { LoadedStore } from "./stores/load-store.ts";
import type { BenchRow } from "./table.ts";

const PROJECT = resolve(import.meta.dirname, "..");
const CONNECTIONS = 16;
const FULL_LOAD_SECONDS = 15;
const SAMPLE_MS = 2000;
/** Of the samples: caches and the garbage collector's first growth. */
const SETTLING_SHARE = 0.25;

/** A server process at half of the load it can take, for minutes: whether its memory grows, whether requests fail. */
export async function measureSoak(context: BenchContext, minutes: number): Promise<BenchRow[]> {
  const { database, keys } = context.installation;
  const store = await loadStore(database, {
    kind: "crowd",
    tokenPepper: keys.tokenPepper,
    workspaces: 10,
    tell: context.tell,
  });
  const server = await startServer(context.environment);
  try {
    context.tell(`Finding the full load, ${FULL_LOAD_SECONDS} s.`);
    const load = { url: server.address, connections: CONNECTIONS, requests: requestsOf(store) };
    const full = await autocannon({ ...load, duration: FULL_LOAD_SECONDS });
    const rate = Math.max(1, Math.floor(full.requests.average / 2));
    context.tell(`Soaking at ${rate} requests a second for ${minutes} minutes.`);
    const samples: { minute: number; mb: number }[] = [];
    const started = performance.now();
    const watch = setInterval(() => {
      void residentMb(server.address).then((mb) =>
        samples.push({ minute: (performance.now() - started) / 60_000, mb }),
      );
    }, SAMPLE_MS);
    const half = await autocannon({ ...load, duration: minutes * 60, overallRate: rate });
    clearInterval(watch);
    const settled = samples.slice(Math.floor(samples.length * SETTLING_SHARE));
    const failures = half.errors + half.timeouts + half.non2xx;
    return [
      {
        name: `soak of ${minutes} minutes at half load, memory`,
        value: `${shownNumber(samples[0]?.mb ?? 0)} MB at first, ${shownNumber(samples.at(-1)?.mb ?? 0)} MB at last`,
        floor: `${shownNumber(rate)} requests/s of ${shownNumber(full.requests.average)}`,
        ratio: `${shownNumber(slopeOf(settled))} MB/min after settling`,
        target: "no growth",
      },
      {
        name: "its failed requests",
        value: `${failures} of ${half.requests.total.toLocaleString("en")}`,
        floor: `p50 ${half.latency.p50} ms, p99 ${half.latency.p99} ms, most ${half.latency.max} ms`,
        ratio: "",
        target: "0",
      },
    ];
  } finally {
    await server.stop();
  }
}

/** What dashboards ask, of every workspace in turn. */
function requestsOf({ workspaces, examples }: LoadedStore): autocannon.Request[] {
  const months = "start_month=2025-01&end_month=2025-11";
  const paths = [
    `/api/v1/summary?${months}`,
    `/api/v1/timeseries?${months}&sku=${examples.sku}`,
    `/api/v1/summary?${months}&product_group_type=family&product_group_key=${encodeURIComponent(examples.family)}`,
    "/api/v1/leaderboards/return-rate?period=year",
    `/api/v1/leaderboards/return-cost?${months}&vendor=${encodeURIComponent(examples.vendor)}`,
    `/api/v1/report?${months}&sku=${examples.sku}`,
    "/api/v1/entities?q=product%201",
    "/api/v1/alerts",
  ];
  return paths.flatMap((path) =>
    workspaces.map(({ token }) => ({
      method: "GET" as const,
      path,
      headers: { authorization: `Bearer ${token}` },
    })),
  );
}

type ServerProcess = { address: string; stop(): Promise<void> };

async function startServer(environment: Record<string, string>): Promise<ServerProcess> {
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

async function residentMb(address: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/mu.exec(text)?.[1]) / 2 ** 20;
}

/** Least squares. */
function slopeOf(samples: readonly { minute: number; mb: number }[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const minute = mean(samples.map((sample) => sample.minute));
  const mb = mean(samples.map((sample) => sample.mb));
  const covariance = mean(samples.map((sample) => (sample.minute - minute) * (sample.mb - mb)));
  return covariance / mean(samples.map((sample) => (sample.minute - minute) ** 2));
}

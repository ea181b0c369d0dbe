import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import type { BenchContext } from "./context.ts";
import { shownMegabytes, shownSpread } from "./measure.ts";
import type { BenchRow } from "./measure.ts";
import { compare, SPREAD, startLikeService, startService } from "./servers.ts";
import type { Comparison, LoadRequest, MeasuredServer, Rounds } from "./servers.ts";
import { ask, MONTHS, SMALL_STORE, summariesOf } from "./store.ts";
import type { LoadedStore } from "./store.ts";

/** All whose path names nothing: a table is a file of another size in each workspace ("Tables as files" in RESULTS.md). */
const MEASURED = (ENDPOINTS as readonly Endpoint[]).filter(({ path }) => !path.includes("{"));

const SUMMARY: Rounds = { rounds: 7, seconds: 3, connections: 32 };
const OTHERS: Rounds = { rounds: 3, seconds: 2, connections: 32 };

/**
 * Requests a second of each endpoint, cached and uncached, compared with the same HTTP server that sends the same bytes without any
 * check; and of the summary of 1,000 workspaces in turn.
 */
export async function measureThroughput(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.typical();
  const crowd = await context.crowd({ change: SMALL_STORE });
  const service = await startService(context.environment);
  const idleMb = service.usage().residentMb;
  const uncached = await startService({ ...context.environment, ANSWER_MEMORY_MB: "0" });
  const floor = await startFloor(context, service, store);
  try {
    const rows: BenchRow[] = [];
    for (const endpoint of MEASURED) {
      const { name } = endpoint;
      const requests = [questionOf(endpoint, store)];
      const floorSide = { server: floor, requests };
      context.tell(`Loading ${name}.`);
      const rounds = name === "summary" ? SUMMARY : OTHERS;
      rows.push(rowOf(`${name}, cached`, await compare({ server: service, requests }, floorSide, rounds)));
      rows.push(rowOf(`${name}, uncached`, await compare({ server: uncached, requests }, floorSide, OTHERS)));
    }
    context.tell("Loading the summary of all workspaces.");
    const side = { server: service, requests: summariesOf(crowd) };
    const ofMany = await compare(side, { server: floor, requests: side.requests }, SUMMARY);
    rows.push(rowOf(`summary of ${crowd.workspaces.length} workspaces in turn, cached`, ofMany));
    const value = `${shownMegabytes(idleMb)}; ${shownMegabytes(service.usage().peakMb)}`;
    return [
      ...rows,
      { name: "resident memory at the start; at most in these rows", value, target: "≤ 120; 250 MB" },
    ];
  } finally {
    await Promise.all([service.stop(), uncached.stop(), floor.stop()]);
  }
}

function rowOf(name: string, comparison: Comparison): BenchRow {
  const { perSecond, floorPerSecond, ratio, cpuMicroseconds, floorCpuMicroseconds } = comparison;
  const cpu = `${Math.round(cpuMicroseconds.median)} µs of CPU`;
  const floorCpu = `${Math.round(floorCpuMicroseconds.median)} µs`;
  return {
    name: `requests/s of ${name}; 32 connections, ${SPREAD}`,
    value: `${shownSpread(perSecond, 0)}, ${cpu}`,
    floor: `${shownSpread(floorPerSecond, 0)}, ${floorCpu}: same server and bytes, no checks`,
    ratio: shownSpread(ratio, 2),
    target: "≥ 0.5",
  };
}

/** One request for each endpoint: for the best-selling SKU, if it takes one. */
function questionOf(endpoint: Endpoint, { workspaces: [{ token }], examples }: LoadedStore): LoadRequest {
  const takes = (name: string): boolean => name in endpoint.parameters.properties;
  return ask(token, endpoint.path, {
    ...(takes("start_month") ? MONTHS : {}),
    ...(takes("sku") && !endpoint.path.includes("leaderboards") ? { sku: examples.sku } : {}),
  });
}

const FLOOR = join(import.meta.dirname, "floor-server.ts");

/** Starts the reference server with the service's answers to one request for each endpoint. */
async function startFloor(
  context: BenchContext,
  service: MeasuredServer,
  store: LoadedStore,
): Promise<MeasuredServer> {
  const texts: Record<string, string> = {};
  for (const endpoint of MEASURED) {
    const { path, token } = questionOf(endpoint, store);
    const response = await fetch(service.address + path, { headers: { authorization: `Bearer ${token}` } });
    if (response.status !== 200) throw new Error(`${endpoint.name} answered ${response.status}`);
    texts[endpoint.name] = await response.text();
  }
  const file = join(context.folder, "floor.json");
  writeFileSync(file, JSON.stringify(texts));
  return startLikeService(FLOOR, file);
}

import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../../src/contract/registry.ts";
import type { BenchContext } from "../context.ts";
import type { BenchRow } from "../measure.ts";
import { compare, SPREAD, startService } from "../servers.ts";
import { shownSpread } from "../measure.ts";
import type { Comparison, Rounds, LoadRequest } from "../servers.ts";
import { questionsOf, startFloor } from "./questions.ts";

const FIRST_ROW: Rounds = { rounds: 7, seconds: 3, connections: 32 };
const OTHER_ROWS: Rounds = { rounds: 3, seconds: 2, connections: 32 };

/**
 * Requests a second of each endpoint beside the same HTTP server answering the same bytes with no checks: once with
 * the answer remembered, once by a server that remembers none and makes it anew. Every request's token, billing, entitlement, scope, readiness and
 * daily quota are checked in PostgreSQL.
 */
export async function measureThroughput(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.typical();
  const service = await startService(context.environment);
  const forgetful = await startService({ ...context.environment, ANSWER_MEMORY_MB: "0" });
  const endpoints = ENDPOINTS as readonly Endpoint[];
  const questions = questionsOf(store);
  const floor = await startFloor(context, service, questions);
  try {
    const rows: BenchRow[] = [];
    for (const { name } of endpoints) {
      const requests = [questions.get(name) as LoadRequest];
      const floorSide = { server: floor, requests };
      context.tell(`Loading ${name}.`);
      const rounds = name === "summary" ? FIRST_ROW : OTHER_ROWS;
      const remembered = await compare({ server: service, requests }, floorSide, rounds);
      rows.push(rowOf(`${name}, remembered`, remembered));
      const anew = await compare({ server: forgetful, requests }, floorSide, OTHER_ROWS);
      rows.push(rowOf(`${name}, made anew`, anew));
    }
    return rows;
  } finally {
    await Promise.all([service.stop(), forgetful.stop(), floor.stop()]);
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

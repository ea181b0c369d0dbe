import { setTimeout as sleep } from "node:timers/promises";
import { summary } from "../../src/contract/summary.ts";
import type { BenchContext } from "../context.ts";
import { shownMegabytes } from "../measure.ts";
import { compare } from "../request/alternate.ts";
import { shownSpread } from "../request/load.ts";
import { questionOf } from "../request/questions.ts";
import { SPREAD, startService } from "../request/server-process.ts";
import type { BenchRow } from "../table.ts";

const ROUNDS = { rounds: 9, seconds: 3, connections: 32 };
/** Until the engine has given back what the start took. */
const IDLE_AFTER_MS = 20_000;

/** What the console costs the API that it is registered beside: its rate and its memory, with the console and without. */
export async function measureBesideApi(context: BenchContext): Promise<BenchRow[]> {
  const requests = [questionOf(summary, await context.typical())];
  const registered = await startService(context.environment);
  const without = await startService({ ...context.environment, CONSOLE: "off" });
  try {
    await sleep(IDLE_AFTER_MS);
    const [ownMb, otherMb] = [registered.usage().residentMb, without.usage().residentMb];
    context.tell("Loading the API, with the console and without.");
    const own = { server: registered, requests };
    const { perSecond, floorPerSecond, ratio, cpuMicroseconds, floorCpuMicroseconds } = await compare(
      own,
      { server: without, requests },
      ROUNDS,
    );
    const cpu = (microseconds: number): string => `${Math.round(microseconds)} µs of CPU`;
    return [
      {
        name: `requests/s of summary, remembered, with the console; 32 connections, ${SPREAD}`,
        value: `${shownSpread(perSecond, 0)}, ${cpu(cpuMicroseconds.median)}`,
        floor: `${shownSpread(floorPerSecond, 0)}, ${cpu(floorCpuMicroseconds.median)}: CONSOLE=off`,
        ratio: shownSpread(ratio, 2),
        target: "≥ 0.98",
      },
      {
        name: "resident memory with the console, idle",
        value: shownMegabytes(ownMb),
        floor: `${shownMegabytes(otherMb)}: CONSOLE=off`,
        ratio: "",
        target: "",
      },
    ];
  } finally {
    await Promise.all([registered.stop(), without.stop()]);
  }
}

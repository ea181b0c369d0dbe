import { setTimeout as sleep } from "node:timers/promises";
import { exportReport } from "../../src/contract/export-report.ts";
import { summary } from "../../src/contract/summary.ts";
import type { BenchContext } from "../context.ts";
import type { BenchRow } from "../table.ts";
import { putLoad } from "./load.ts";
import { ask, dashboardMix, questionOf } from "./questions.ts";
import { startService } from "./server-process.ts";

/** Until the engine has given back what the start took. */
const IDLE_AFTER_MS = 20_000;
const LOAD_SECONDS = 15;
const EXPORTS = 5;

/** Resident memory of a server process: idle, after loads of the large store, and what its whole report as CSV adds. */
export async function measureMemory(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.whale();
  const service = await startService(context.environment);
  const { token } = store.workspaces[0];
  try {
    await sleep(IDLE_AFTER_MS);
    const idleMb = service.usage().residentMb;
    context.tell("Loading the large store, for memory.");
    const load = { address: service.address, connections: 32, seconds: LOAD_SECONDS, ratePerSecond: null };
    await putLoad({ ...load, requests: [questionOf(summary, store)] });
    await putLoad({ ...load, requests: dashboardMix(store, token) });
    const { residentMb, peakMb } = service.usage();
    const months = { start_month: store.firstMonth, end_month: store.lastMonth };
    const file = ask(token, exportReport.path, months);
    let bytes = 0;
    for (let number = 0; number < EXPORTS; number += 1) {
      const response = await fetch(service.address + file.path, { headers: file.headers });
      if (response.status !== 200) throw new Error(`the export answered ${response.status}`);
      bytes = (await response.arrayBuffer()).byteLength;
    }
    const afterMb = service.usage().peakMb;
    const mb = (value: number): string => `${Math.round(value)} MB`;
    const row = (name: string, value: string, target: string, floor = ""): BenchRow => ({
      name,
      value,
      floor,
      ratio: "",
      target,
    });
    return [
      row("resident memory, idle", mb(idleMb), "≤ 120 MB"),
      row("resident memory under load, large store", mb(residentMb), "≤ 250 MB", `${mb(peakMb)} at most`),
      row(
        `resident memory after ${EXPORTS} exports of the large store's whole report`,
        `${mb(afterMb)} at most`,
        "≤ 250 MB",
        `${bytes.toLocaleString("en")} bytes each`,
      ),
    ];
  } finally {
    await service.stop();
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import { exportReport } from "../../../src/contract/export-report.ts";
import { summary } from "../../../src/contract/summary.ts";
import type { BenchContext } from "../context.ts";
import { shownMegabytes } from "../measure.ts";
import { LAST_MONTH } from "../stores/store.ts";
import type { LoadedStore } from "../stores/store.ts";
import type { BenchRow } from "../measure.ts";
import { putLoad, highestMb, watchMemory, startService } from "../servers.ts";
import { ask, dashboardMix, questionOf } from "./questions.ts";
import type { MeasuredServer } from "../servers.ts";

/** Until the engine has given back what the start took. */
const IDLE_AFTER_MS = 20_000;
const LOAD_SECONDS = 15;
const SAMPLE_MS = 100;
/** Each of the exports begins in another month, so that none of them is remembered. */
const EXPORTED_FROM = ["2023-01", "2023-02", "2023-03", "2023-04", "2023-05"];

/** Resident memory of a server process: idle, during loads of the large store, and while its report is made as CSV. */
export async function measureMemory(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.whale();
  const size = `large store of ${store.plan.lines.toLocaleString("en")} lines`;
  const service = await startService(context.environment);
  try {
    await sleep(IDLE_AFTER_MS);
    const idleMb = service.usage().residentMb;
    context.tell("Loading the large store, for memory.");
    const load = { address: service.address, connections: 32, seconds: LOAD_SECONDS, ratePerSecond: null };
    const ofSummary = await watchMemory(service, SAMPLE_MS, () =>
      putLoad({ ...load, requests: [questionOf(summary, store)] }),
    );
    const ofMix = await watchMemory(service, SAMPLE_MS, () =>
      putLoad({ ...load, requests: dashboardMix(store, store.workspaces[0].token) }),
    );
    const ofExports = await watchMemory(service, SAMPLE_MS, () => exportReports(service, store));
    const row = (name: string, mb: number, target: string, floor = ""): BenchRow => {
      return { name, value: shownMegabytes(mb), floor, ratio: "", target };
    };
    const loads = `highest of ${LOAD_SECONDS} s, 32 connections`;
    return [
      row("resident memory, idle", idleMb, "≤ 120 MB"),
      row(
        `resident memory during a load of summary, ${size}`,
        highestMb(ofSummary.samples),
        "≤ 250 MB",
        loads,
      ),
      row(`resident memory during a dashboard's load, ${size}`, highestMb(ofMix.samples), "≤ 250 MB", loads),
      row(
        `resident memory during ${EXPORTED_FROM.length} exports of the report, each of other months, ${size}`,
        highestMb(ofExports.samples),
        "≤ 250 MB",
        `highest; at most ${ofExports.result.toLocaleString("en")} bytes each`,
      ),
    ];
  } finally {
    await service.stop();
  }
}

/** One after the other; the bytes of the longest. */
async function exportReports(service: MeasuredServer, store: LoadedStore): Promise<number> {
  let bytes = 0;
  for (const firstMonth of EXPORTED_FROM) {
    const months = { start_month: firstMonth, end_month: LAST_MONTH };
    const { path, headers } = ask(store.workspaces[0].token, exportReport.path, months);
    const response = await fetch(service.address + path, { headers });
    if (response.status !== 200) throw new Error(`the export answered ${response.status}`);
    bytes = Math.max(bytes, (await response.arrayBuffer()).byteLength);
  }
  return bytes;
}

import type { BenchContext } from "../context.ts";
import { shownMegabytes, shownNumber } from "../measure.ts";
import type { BenchRow } from "../measure.ts";
import { tryLoad, watchMemory, startService } from "../servers.ts";
import type { MemorySample } from "../servers.ts";
import { dashboardMix } from "./questions.ts";

const CONNECTIONS = 32;
const WORKSPACES = 10;
const WARM_UP_SECONDS = 30;
const FULL_LOAD_SECONDS = 15;
const SAMPLE_MS = 2000;
/** Of the samples: caches and the garbage collector's first growth. */
const SETTLING_SHARE = 0.25;

/**
 * A server process at half of the load it can take, for minutes: whether its memory grows, whether requests fail. Every
 * request is counted in the daily quota.
 */
export async function measureSoak(context: BenchContext, minutes: number): Promise<BenchRow[]> {
  const store = await context.crowd({ workspaces: WORKSPACES });
  const service = await startService(context.environment);
  try {
    const requests = store.workspaces.flatMap(({ token }) => dashboardMix(store, token));
    const load = { address: service.address, connections: CONNECTIONS, requests };
    context.tell(`Warming up, ${WARM_UP_SECONDS} s, then finding the full load, ${FULL_LOAD_SECONDS} s.`);
    await tryLoad({ ...load, seconds: WARM_UP_SECONDS, ratePerSecond: null });
    const full = await tryLoad({ ...load, seconds: FULL_LOAD_SECONDS, ratePerSecond: null });
    const rate = Math.max(1, Math.floor(full.perSecond / 2));
    context.tell(`Soaking at ${rate} requests a second for ${minutes} minutes.`);
    const { result: half, samples } = await watchMemory(service, SAMPLE_MS, () =>
      tryLoad({ ...load, seconds: minutes * 60, ratePerSecond: rate }),
    );
    const ofWholeMinutes = samples.filter(({ minute }) => minute < minutes);
    const settled = minuteMeans(ofWholeMinutes.slice(Math.floor(samples.length * SETTLING_SHARE)));
    const { slope, error } = slopeOf(settled);
    return [
      {
        name: `soak of ${minutes} minutes at half load, memory`,
        value: `${shownMegabytes(settled[0]?.mb ?? Number.NaN)} settled, ${shownMegabytes(settled.at(-1)?.mb ?? Number.NaN)} at last`,
        floor: `${shownNumber(rate)} requests/s of ${shownNumber(full.perSecond)}`,
        ratio: `${slope.toFixed(1)} ± ${error.toFixed(1)} MB a minute after settling (least squares of the minutes' means, its standard error)`,
        target: "no growth",
      },
      {
        name: "its failed requests",
        value: `${half.failures} of ${half.requests.toLocaleString("en")}; ${full.failures} of ${full.requests.toLocaleString("en")} at full load`,
        floor: `p50 ${half.p50Ms.toFixed(1)} ms, p99 ${half.p99Ms.toFixed(1)} ms`,
        target: "0",
      },
    ];
  } finally {
    await service.stop();
  }
}

/** The mean of each minute: single samples follow the teeth of the garbage collector's saw. */
function minuteMeans(samples: readonly MemorySample[]): MemorySample[] {
  const minutes = Map.groupBy(samples, ({ minute }) => Math.floor(minute));
  return [...minutes].map(([minute, ofMinute]) => ({ minute, mb: mean(ofMinute.map(({ mb }) => mb)) }));
}

/** Least squares: MB a minute, and the standard error of that. */
function slopeOf(samples: readonly MemorySample[]): { slope: number; error: number } {
  const minute = mean(samples.map((sample) => sample.minute));
  const mb = mean(samples.map((sample) => sample.mb));
  const spread = sumOf(samples, (sample) => (sample.minute - minute) ** 2);
  const slope = sumOf(samples, (sample) => (sample.minute - minute) * (sample.mb - mb)) / spread;
  const residual = sumOf(samples, (sample) => (sample.mb - mb - slope * (sample.minute - minute)) ** 2);
  return { slope, error: Math.sqrt(residual / (samples.length - 2) / spread) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function sumOf(samples: readonly MemorySample[], of: (sample: MemorySample) => number): number {
  return samples.reduce((sum, sample) => sum + of(sample), 0);
}

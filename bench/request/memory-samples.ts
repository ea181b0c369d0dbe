import type { MeasuredServer } from "./server-process.ts";

/** Resident memory at a time since the start of the watch; not a number where /proc is not there. */
export type MemorySample = { minute: number; mb: number };

/** Does `work` and looks at the server's memory every `everyMs` until it is done. */
export async function watchMemory<Result>(
  server: MeasuredServer,
  everyMs: number,
  work: () => Promise<Result>,
): Promise<{ result: Result; samples: MemorySample[] }> {
  const samples: MemorySample[] = [];
  const startedMs = performance.now();
  const look = (): void => {
    samples.push({ minute: (performance.now() - startedMs) / 60_000, mb: server.usage().residentMb });
  };
  const timer = setInterval(look, everyMs);
  try {
    const result = await work();
    look();
    return { result, samples };
  } finally {
    clearInterval(timer);
  }
}

/** The highest of the samples. */
export function highestMb(samples: readonly MemorySample[]): number {
  return Math.max(...samples.map(({ mb }) => mb));
}

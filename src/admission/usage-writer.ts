import type { Queryable } from "../store/database.ts";
import { addUsage } from "../store/queries/usage-write.ts";
import { createUsageMemory } from "./usage-count.ts";
import type { CountUsage } from "./usage-count.ts";

/** The most that a server which is killed loses of its counts. */
export const USAGE_INTERVAL_MS = 10_000;

/** Counts requests, and writes the counts. */
export type UsageWriter = {
  count: CountUsage;
  /** Writes what is left, once no request is under way any more. */
  stop: () => Promise<void>;
};

/**
 * Writes the counts of this process every `intervalMs` in one statement for all shops, through a pool that holds up no
 * admission. Counts that cannot be written are kept for the next time. A request waits for none of it.
 */
export function startUsageWriter(options: {
  database: Queryable;
  log: { warn: (detail: object, message: string) => void };
  intervalMs?: number;
}): UsageWriter {
  const { database, log, intervalMs = USAGE_INTERVAL_MS } = options;
  const memory = createUsageMemory();
  let writing = Promise.resolve();
  const write = async (): Promise<void> => {
    const counts = memory.take();
    if (counts.length === 0) return;
    try {
      await addUsage(database, counts);
    } catch (error) {
      memory.putBack(counts);
      log.warn({ err: error }, "the details of usage could not be written; they are kept for the next time");
    }
  };
  const writeNext = (): Promise<void> => {
    writing = writing.then(write);
    return writing;
  };
  const timer = setInterval(() => void writeNext(), intervalMs);
  timer.unref();
  return {
    count: memory.count,
    stop: () => {
      clearInterval(timer);
      return writeNext();
    },
  };
}

import type { Database } from "../store/database.ts";
import { updateRunProgress } from "../store/queries/sync-run.ts";
import type { SyncProgress } from "./connector.ts";

export type ProgressWriter = {
  show: (progress: SyncProgress) => void;
  /** Resolves when what was shown last is written; never rejects. */
  flush: () => Promise<void>;
};

const INTERVAL_MS = 1000;

/**
 * Writes the progress of a run into its history, at most once a second and one write at a time. That a write fails is
 * no reason to end a run: the next one says the same.
 */
export function createProgressWriter(database: Database, shopKey: number, runId: string): ProgressWriter {
  let latest: SyncProgress | null = null;
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;
  let writtenAtMs = -Infinity;
  const write = (): void => {
    timer = null;
    const progress = latest;
    if (progress === null) return;
    latest = null;
    writtenAtMs = performance.now();
    writing = writing.then(() => updateRunProgress(database, shopKey, runId, progress).catch(() => {}));
  };
  return {
    show: (progress) => {
      latest = { ...progress };
      timer ??= setTimeout(write, Math.max(0, writtenAtMs + INTERVAL_MS - performance.now()));
    },
    flush: async () => {
      if (timer !== null) clearTimeout(timer);
      write();
      await writing;
    },
  };
}

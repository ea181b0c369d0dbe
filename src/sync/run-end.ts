import { isLostDatabase } from "../lib/log-failure.ts";
import { WorkspaceStopped, WorkspaceGone } from "../store/queries/import-stage.ts";
import { SourceFailed, SourceRefused } from "./connector.ts";
import type { SyncOutcome } from "./connector.ts";

/** How a run ended, as its history shows it. */
export type RunEnd = {
  status: "succeeded" | "failed" | "interrupted";
  counts: Record<string, number>;
  notes: readonly string[];
  /** One sentence for people, without internals; null = nothing went wrong. */
  error: string | null;
  /** The source no longer takes our credentials: there is nothing to try again. */
  isRefused: boolean;
  /** It succeeded, and nothing that is served came out different. */
  isQuiet: boolean;
  /** A fault of ours, for the log only. */
  cause: unknown;
};

export type RunAttempt = { outcome: SyncOutcome } | { error: unknown; isStopped: boolean };

/**
 * What a connector's outcome or error means. Errors of sources arrive as `SourceFailed` and `SourceRefused`, so a
 * broken connection in any other is the database's: that cuts the run off, but says nothing about its source.
 */
export function describeEnd(attempt: RunAttempt, runId: string): RunEnd {
  const end: RunEnd = {
    status: "failed",
    counts: {},
    notes: [],
    error: null,
    isRefused: false,
    isQuiet: false,
    cause: null,
  };
  if ("outcome" in attempt) {
    const { counts, notes, isChanged } = attempt.outcome;
    return { ...end, status: "succeeded", counts, notes, isQuiet: isChanged === false };
  }
  const { error, isStopped } = attempt;
  if (isStopped) return { ...end, status: "interrupted" };
  if (error instanceof SourceRefused) return { ...end, error: error.message, isRefused: true };
  if (error instanceof WorkspaceStopped) return { ...end, status: "interrupted", error: error.message };
  if (error instanceof SourceFailed || error instanceof WorkspaceGone)
    return { ...end, error: error.message };
  if (isLostDatabase(error)) {
    return { ...end, status: "interrupted", error: "The connection to the database was lost." };
  }
  const sentence = `Something unexpected went wrong in the service: see its log under run ${runId}.`;
  return { ...end, error: sentence, cause: error };
}

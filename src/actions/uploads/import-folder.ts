import { evaluateAlerts, replayEarlyWarnings } from "../../alerts/evaluate-alerts.ts";
import type { Actor } from "../actor.ts";
import { impossible, invalid, movingAway } from "../refusal.ts";
import type { Database } from "../../store/database.ts";
import { WorkspaceStopped } from "../../store/queries/import-stage.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { importFolder } from "../../sync/connectors/csv/import-folder.ts";
import type { ImportOptions, ImportResult } from "../../sync/connectors/csv/import-folder.ts";
import { ImportError } from "../../sync/connectors/csv/problems.ts";
import { requireRight } from "../right.ts";
import type { NamedRight } from "../right.ts";

/** Asked for by every page and file of an import, and by the command. */
export const importData: NamedRight = { name: "import", past: "Imported data", least: "admin" };

export type ImportRequest = Pick<
  ImportOptions,
  "folder" | "asOf" | "now" | "skipInvalid" | "signal" | "onWait"
> & {
  /** M17: days before the as-of, as of which early warnings are looked for too; counted from 1970-01-01, oldest first. */
  replayedDays?: readonly number[] | undefined;
  /** Throwing stops the import too. */
  onProgress: ProgressListener;
};

/** `label` names the step; `total` is in whatever the step counts. */
export type ProgressListener = (label: string, done: number, total: number) => void;

const STEP_LABELS: Readonly<Record<string, string>> = {
  parts: "Joining the parts",
  wait: "Waiting for another run of this workspace",
  orders: "Merging orders",
  labels: "Splitting labels",
  cohorts: "Rolling up",
};

/** A step of an import for people; what is no step of all folders is the name of a file. */
export function stepLabel(stage: string): string {
  return STEP_LABELS[stage] ?? `Reading ${stage}`;
}

/**
 * Imports a folder of CSV files into a workspace and evaluates its alerts; the first import makes it ready. Throws a
 * `Refusal` for an as-of in the future and for a folder or file that cannot be read.
 */
export async function importIntoWorkspace(
  database: Database,
  actor: Actor,
  workspace: DirectoryRow,
  request: ImportRequest,
): Promise<ImportResult> {
  requireRight(actor, importData);
  const { onProgress, replayedDays = [], ...options } = request;
  const { asOf, now } = options;
  if (asOf > now) {
    throw invalid(
      `The as-of ${asOf.toISOString()} is in the future: it may be at most ${now.toISOString()}, which is now.`,
    );
  }
  try {
    const result = await importFolder({
      database,
      actor,
      shopKey: workspace.shop_key,
      currencyCode: workspace.currency_code,
      ...options,
      onProgress: ({ stage, doneBytes, totalBytes }) => onProgress(stepLabel(stage), doneBytes, totalBytes),
    });
    if (result.imported) {
      for (const asOfDay of replayedDays) {
        await replayEarlyWarnings(database, { shopKey: workspace.shop_key, asOfDay });
      }
      await evaluateAlerts({ database, shopKey: workspace.shop_key, now: new Date() });
    }
    return result;
  } catch (error) {
    if (error instanceof WorkspaceStopped) {
      throw error.readiness === "erasing"
        ? impossible(`${workspace.shop_domain} is going to be erased: cancel the erasure first.`)
        : movingAway(workspace.shop_domain);
    }
    throw error instanceof ImportError ? impossible(`${error.message}.`) : error;
  }
}

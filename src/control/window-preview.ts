import { monthToText } from "../lib/month.ts";
import { leaderboardMonths } from "../metrics/completeness.ts";
import { rate } from "../metrics/rate.ts";
import type { DatabasePool } from "../store/database.ts";
import { loadCohort } from "../store/queries/cohort.ts";
import { loadReturnRates } from "../store/queries/return-rate-leaderboard.ts";
import type { Selection } from "../store/queries/selection.ts";
import { loadWorkspace } from "../store/queries/workspace-load.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Actor } from "./actor.ts";
import { requireRight } from "./rights.ts";
import type { WindowSettings } from "./workspace-settings.ts";

/** What the newest twelve complete months would give; months as "2026-09", both included. */
export type WindowPreview = WindowSettings & {
  startMonth: string;
  /** The newest complete month (M5). */
  endMonth: string;
  soldUnits: number;
  returnedUnits: number;
  /** M6, to 6 decimals. */
  returnRate: number;
  /** How many SKUs sold enough to be ranked (M12). */
  rankedSkus: number;
};

const WHOLE_STORE: Selection = { kind: "workspace", key: "", includeUsed: false, vendor: null };
const NO_FILTERS = { minSoldUnits: null, minReturnRate: null, vendor: null };

/**
 * What the API would answer once `wanted` is saved: `return_rate` of the summary of the newest twelve complete months, and
 * what the return-rate leaderboard of a year says of its months and ranked SKUs. From one snapshot, by the statements of
 * these two endpoints. Null = figures are withheld as the API withholds them, or no source was ever synced, so that nothing is
 * complete.
 */
export async function previewWindows(
  database: Pick<DatabasePool, "snapshot">,
  actor: Actor,
  admitted: Workspace,
  wanted: WindowSettings,
): Promise<WindowPreview | null> {
  requireRight(actor, "windows.set");
  return database.snapshot(admitted.shopKey, async (connection) => {
    const loaded = await loadWorkspace(connection, admitted);
    if (loaded === null || !loaded.isBillingActive || loaded.readiness !== "ready") return null;
    const { workspace } = loaded;
    const { primaryWindowDays: windowDays, minSoldUnits } = wanted;
    const months = leaderboardMonths("year", windowDays, workspace.asOfDay);
    if (months === null) return null;
    const selection = WHOLE_STORE;
    const cohort = await loadCohort(connection, workspace, { selection, windowDays, ...months });
    const ranked = await loadReturnRates(connection, workspace, {
      selection,
      months,
      windowDays,
      minSoldUnits,
      filters: NO_FILTERS,
      cardSize: null,
      limit: 1,
    });
    const sum = (of: (row: (typeof cohort.months)[number]) => number): number =>
      cohort.months.reduce((total, row) => total + of(row), 0);
    const soldUnits = sum((row) => row.sold_units);
    const returnedUnits = sum((row) => row.returned_units);
    return {
      ...wanted,
      startMonth: monthToText(months.startMonth),
      endMonth: monthToText(months.endMonth),
      soldUnits,
      returnedUnits,
      returnRate: rate(returnedUnits, soldUnits),
      rankedSkus: ranked.eligible_count,
    };
  });
}

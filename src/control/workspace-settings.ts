import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Database } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { updateWorkspace } from "../store/queries/workspace-write.ts";
import type { WorkspaceChange } from "../store/queries/workspace-write.ts";
import { rebuildPrimaryWindow } from "../sync/cohorts.ts";
import { recordAction } from "./audit.ts";
import { readInteger, readOneOf } from "./input.ts";
import { joinTransaction } from "./join.ts";
import { invalid } from "./refusal.ts";
import { requirePlan, requireWorkspace } from "./workspace.ts";

export const WORKSPACE_SETTINGS = [
  "plan",
  "billing",
  "readiness",
  "primary_window_days",
  "min_sold_units",
  "visible_card_size",
] as const;

const BILLING_STATUSES = ["active", "inactive"] as const;
const READINESS_STATES = ["ready", "installing", "reconnecting", "backfilling"] as const;
const LONGEST_WINDOW_DAYS = 365;

/**
 * Changes settings of a workspace; either all of them or none. Changing the primary window (M4) also rebuilds what is
 * served with it, in one step. Throws a `Refusal` for an unknown setting, a value that is not allowed, or an unknown plan.
 */
export async function setWorkspace(
  database: Database,
  workspace: WorkspaceRow,
  settings: ReadonlyMap<string, string>,
): Promise<WorkspaceRow> {
  const { change, primaryWindowDays } = readSettings(settings);
  const { shop_key: shopKey } = workspace;
  await database.transaction(async (connection) => {
    if (change.planKey !== null) await requirePlan(connection, change.planKey);
    // First of all writes: it waits for a running import, which must not wait for this one's row locks.
    if (primaryWindowDays !== null) {
      await rebuildPrimaryWindow(joinTransaction(connection), shopKey, primaryWindowDays);
    }
    await updateWorkspace(connection, shopKey, change);
    await recordAction(connection, shopKey, "workspace.set", Object.fromEntries(settings));
  });
  if (primaryWindowDays !== null) await evaluateAlerts({ database, shopKey, now: new Date() });
  return requireWorkspace(database, workspace.shop_domain);
}

type Settings = { change: WorkspaceChange; primaryWindowDays: number | null };

function readSettings(settings: ReadonlyMap<string, string>): Settings {
  const unknown = [...settings.keys()].find((name) => !WORKSPACE_SETTINGS.some((known) => known === name));
  if (unknown !== undefined || settings.size === 0) {
    throw invalid(`A workspace's settings are ${WORKSPACE_SETTINGS.join(", ")}.`);
  }
  const read = <Value>(name: string, reader: (value: string) => Value): Value | null => {
    const value = settings.get(name);
    return value === undefined ? null : reader(value);
  };
  const integer = (name: string, minimum: number, maximum: number | null): number | null =>
    read(name, (value) => readInteger(name, value, minimum, maximum));
  return {
    change: {
      planKey: read("plan", (value) => value),
      billingStatus: read("billing", (value) => readOneOf("billing", value, BILLING_STATUSES)),
      readiness: read("readiness", (value) => readOneOf("readiness", value, READINESS_STATES)),
      minSoldUnits: integer("min_sold_units", 0, null),
      visibleCardSize: integer("visible_card_size", 1, null),
    },
    primaryWindowDays: integer("primary_window_days", 1, LONGEST_WINDOW_DAYS),
  };
}

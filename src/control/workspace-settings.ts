import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Connection, Database } from "../store/database.ts";
import { listConnections } from "../store/queries/data-source.ts";
import { deletePlanRequest } from "../store/queries/plan-request.ts";
import { setPrimaryWindow } from "../store/queries/publish.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { updateWorkspace } from "../store/queries/workspace-write.ts";
import type { WorkspaceChange } from "../store/queries/workspace-write.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted, readInteger, readOneOf } from "./input.ts";
import { requireRight } from "./rights.ts";
import { impossible, invalid } from "./refusal.ts";
import { requirePlan, requireWorkspace } from "./workspace.ts";

export const WORKSPACE_SETTINGS = [
  "plan",
  "billing",
  "readiness",
  "primary_window_days",
  "min_sold_units",
  "visible_card_size",
] as const;

/** What a workspace's own admins may set; the others are the operators'. */
const MEMBERS_SETTINGS: ReadonlySet<string> = new Set(["primary_window_days", "min_sold_units"]);
const BILLING_STATUSES = ["active", "inactive"] as const;
const READINESS_STATES = ["ready", "installing", "reconnecting", "backfilling"] as const;
const LONGEST_WINDOW_DAYS = 365;

/** What a workspace's admins decide about its figures: the days of the primary window (M4), and the threshold of rankings (M12). */
export type WindowSettings = { primaryWindowDays: number; minSoldUnits: number };

/** The days of the primary window, 1 to 365. Throws `invalid`. */
export function readWindowDays(value: string): number {
  return readInteger("primary_window_days", value, 1, LONGEST_WINDOW_DAYS);
}

/** Throws `invalid`. */
export function readMinSoldUnits(value: string): number {
  return readInteger("min_sold_units", value, 0, null);
}

/**
 * Changes settings of a workspace; either all of them or none, effective with the next request. A plan answers what the workspace
 * asked for, whichever it is. Throws a `Refusal` for an unknown setting, a value that is not allowed, an unknown plan,
 * or a readiness that follows a connected store.
 */
export async function setWorkspace(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  settings: ReadonlyMap<string, string>,
): Promise<WorkspaceRow> {
  const action = [...settings.keys()].every((name) => MEMBERS_SETTINGS.has(name))
    ? "windows.set"
    : "workspace.set";
  requireRight(actor, action);
  const { change, primaryWindowDays } = readSettings(settings);
  const { shop_key: shopKey } = workspace;
  await database.transaction(async (connection) => {
    if (change.planKey !== null) await requirePlan(connection, change.planKey);
    if (change.readiness !== null) await requireOwnReadiness(connection, workspace);
    if (primaryWindowDays !== null) await setPrimaryWindow(connection, shopKey, primaryWindowDays);
    await updateWorkspace(connection, shopKey, change);
    const ended = change.planKey === null ? null : await deletePlanRequest(connection, shopKey);
    const before = Object.fromEntries(Object.entries(workspace).filter(([name]) => settings.has(name)));
    await recordAction(connection, actor, {
      shopKey,
      action,
      detail: Object.fromEntries(settings),
      before: ended === null ? before : { ...before, requested_plan: ended.plan },
    });
  });
  if (primaryWindowDays !== null) await evaluateAlerts({ database, shopKey, now: new Date() });
  return requireWorkspace(database, workspace.shop_domain);
}

/** The next run of a connected store would undo what is set here. */
async function requireOwnReadiness(connection: Connection, workspace: WorkspaceRow): Promise<void> {
  const store = (await listConnections(connection)).find(
    (row) =>
      row.shop_key === workspace.shop_key &&
      row.kind === "store" &&
      row.sealed_credentials !== null &&
      row.status !== "disconnected",
  );
  if (store === undefined) return;
  throw impossible(
    `The readiness of ${workspace.shop_domain} follows its connection to ${store.source}: disconnect it first, or set billing=inactive to stop serving.`,
  );
}

type Settings = { change: WorkspaceChange; primaryWindowDays: number | null };

function readSettings(settings: ReadonlyMap<string, string>): Settings {
  const unknown = [...settings.keys()].find((name) => !WORKSPACE_SETTINGS.some((known) => known === name));
  if (unknown !== undefined || settings.size === 0) {
    const what =
      unknown === undefined
        ? "Name at least one setting of the workspace"
        : `${quoted(unknown)} is no setting of a workspace`;
    throw invalid(`${what}; its settings are ${WORKSPACE_SETTINGS.join(", ")}.`);
  }
  const read = <Value>(name: string, reader: (value: string) => Value): Value | null => {
    const value = settings.get(name);
    return value === undefined ? null : reader(value);
  };
  return {
    change: {
      planKey: read("plan", (value) => value),
      billingStatus: read("billing", (value) => readOneOf("billing", value, BILLING_STATUSES)),
      readiness: read("readiness", (value) => readOneOf("readiness", value, READINESS_STATES)),
      minSoldUnits: read("min_sold_units", readMinSoldUnits),
      visibleCardSize: read("visible_card_size", (value) => readInteger("visible_card_size", value, 1, null)),
    },
    primaryWindowDays: read("primary_window_days", readWindowDays),
  };
}

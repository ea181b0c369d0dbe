import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Database, Queryable } from "../store/database.ts";
import {
  deleteWatched,
  insertWatched,
  isInCatalogue,
  listWatched,
  listWatchedEntities,
} from "../store/queries/watchlist-write.ts";
import type { WatchedKind } from "../store/queries/watchlist-write.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted, readOneOf } from "./input.ts";
import { impossible } from "./refusal.ts";

/** What can be watched, in the words of the API's selectors. */
export const WATCHED_TYPES = ["sku", "product_gid", "family", "analytics_category"] as const;

export type WatchedType = (typeof WATCHED_TYPES)[number];

/** `changed` is false when it already was so. */
export type WatchResult = { type: WatchedType; key: string; changed: boolean };

/**
 * Watches an entity for spikes of its return rate (M16), and raises an alert for a current one; the entity must be in
 * the workspace's catalogue.
 */
export async function watch(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  type: string,
  key: string,
): Promise<WatchResult> {
  requireRight(actor, "watch.add");
  const watchedType = readOneOf("The type", type, WATCHED_TYPES);
  const kind = kindOfType(watchedType);
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  const changed = await database.transaction(async (connection) => {
    if (!(await isInCatalogue(connection, shopKey, kind, key))) {
      throw impossible(`The catalogue of ${shopDomain} has no ${watchedType} ${quoted(key)}.`);
    }
    const added = await insertWatched(connection, shopKey, kind, key);
    if (added)
      await recordAction(connection, actor, {
        shopKey,
        action: "watch.add",
        detail: { type: watchedType, key },
      });
    return added;
  });
  await evaluateAlerts({ database, shopKey, now: new Date() });
  return { type: watchedType, key, changed };
}

/** Stops watching an entity. */
export async function unwatch(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  type: string,
  key: string,
): Promise<WatchResult> {
  requireRight(actor, "watch.remove");
  const watchedType = readOneOf("The type", type, WATCHED_TYPES);
  const { shop_key: shopKey } = workspace;
  const changed = await database.transaction(async (connection) => {
    const removed = await deleteWatched(connection, shopKey, kindOfType(watchedType), key);
    if (removed)
      await recordAction(connection, actor, {
        shopKey,
        action: "watch.remove",
        detail: { type: watchedType, key },
      });
    return removed;
  });
  return { type: watchedType, key, changed };
}

/** What the workspace watches; `title`: of the product, or of the SKU's; null = none is known, and of groups. */
export async function showWatched(
  database: Queryable,
  workspace: WorkspaceRow,
): Promise<{ type: WatchedType; key: string; title: string | null; added_at: Date }[]> {
  const rows = await listWatchedEntities(database, workspace.shop_key);
  return rows.map((row) => ({
    type: typeOfKind(row.entity_kind),
    key: row.entity_key,
    title: row.title,
    added_at: row.added_at,
  }));
}

/** Whether the workspace watches something, for many things at once. */
export type IsWatched = (type: WatchedType, key: string) => boolean;

export async function findWatched(database: Queryable, { shopKey }: Workspace): Promise<IsWatched> {
  const watched = new Set(
    (await listWatched(database, shopKey)).map((row) => `${typeOfKind(row.entity_kind)} ${row.entity_key}`),
  );
  return (type, key) => watched.has(`${type} ${key}`);
}

function typeOfKind(kind: WatchedKind): WatchedType {
  return kind === "product" ? "product_gid" : kind;
}

function kindOfType(type: WatchedType): WatchedKind {
  return type === "product_gid" ? "product" : type;
}

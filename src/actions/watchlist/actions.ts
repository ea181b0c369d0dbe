import { evaluateAlertsUnlessHeld } from "../../alerts/evaluate-alerts.ts";
import { quoted } from "../input.ts";
import { impossible } from "../refusal.ts";
import { deleteWatched, insertWatched, isInCatalogue, listWatchedEntities } from "./queries.ts";
import type { WatchedKind } from "../../store/queries/alerts.ts";
import { defineAction, defineList } from "../action.ts";
import { anyText, oneOf } from "../field.ts";

/** Watchable entities, with the API's selector names. */
export const WATCHED_TYPES = ["sku", "product_gid", "family", "analytics_category"] as const;

export type WatchedType = (typeof WATCHED_TYPES)[number];

/** The kind of a watched entity, in a word. */
export const WATCHED_TEXTS: Readonly<Record<WatchedType, string>> = {
  sku: "SKU",
  product_gid: "Product",
  family: "Family",
  analytics_category: "Category",
};

/** `title`: of the product, or of the SKU's; null = none is known, and of groups. */
export type Watched = { type: WatchedType; key: string; title: string | null; added_at: Date };

const entity = {
  type: oneOf(
    "Type",
    WATCHED_TYPES.map((type) => [type, WATCHED_TEXTS[type]] as const),
  ),
  key: anyText("Key", {
    hint: "The SKU, the product's id as in the API (product_gid), or the name of the family or category.",
  }),
};

export const watchedList = defineList<Watched>({
  name: "watchlist.read",
  about: "Show what is watched.",
  past: "Read the watchlist",
  least: "viewer",
  columns: { type: "type", key: "key", added: "added_at" },
  rows: async ({ database, workspace }) => {
    const rows = await listWatchedEntities(database, workspace.shop_key);
    return rows.map(({ entity_kind: kind, entity_key: key, title, added_at }) => ({
      type: typeOfKind(kind),
      key,
      title,
      added_at,
    }));
  },
});

/**
 * Watches an entity for spikes of its return rate (M16), and raises an alert for a current one; the entity must be in
 * the workspace's catalogue.
 */
export const addWatched = defineAction({
  name: "watch.add",
  title: "Add to watchlist",
  about: "Watch an entity.",
  past: "Added to the watchlist",
  least: "admin",
  input: entity,
  run: async ({ connection, shopKey, domain }, { type, key }) => {
    if (!(await isInCatalogue(connection, shopKey, kindOfType(type), key))) {
      throw impossible(`The catalogue of ${domain} has no ${type} ${quoted(key)}.`);
    }
    const changed = await insertWatched(connection, shopKey, kindOfType(type), key);
    return {
      result: { type, key, changed },
      done: changed ? `Added ${key} to the watchlist.` : `${key} is already on the watchlist.`,
      audit: changed ? { detail: { type, key } } : null,
    };
  },
  after: ({ database, workspace, now }) =>
    evaluateAlertsUnlessHeld({ database, shopKey: workspace.shop_key, now }),
});

export const removeWatched = defineAction({
  name: "watch.remove",
  title: "Remove from watchlist",
  about: "Stop watching an entity.",
  past: "Removed from the watchlist",
  least: "admin",
  input: entity,
  run: async ({ connection, shopKey }, { type, key }) => {
    const changed = await deleteWatched(connection, shopKey, kindOfType(type), key);
    return {
      result: { type, key, changed },
      done: changed ? `Removed ${key} from the watchlist.` : `${key} is not on the watchlist.`,
      audit: changed ? { detail: { type, key } } : null,
    };
  },
});

export const WATCHLIST_ACTIONS = [addWatched, removeWatched] as const;

/** Whether the workspace watches something. */
export type IsWatched = (type: WatchedType, key: string) => boolean;

export function isIn(watched: readonly string[]): IsWatched {
  return (type, key) => watched.includes(`${kindOfType(type)} ${key}`);
}

function typeOfKind(kind: WatchedKind): WatchedType {
  return kind === "product" ? "product_gid" : kind;
}

function kindOfType(type: WatchedType): WatchedKind {
  return type === "product_gid" ? "product" : type;
}

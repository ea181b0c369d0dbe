import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

export type WatchedKind = "sku" | "product" | "family" | "analytics_category";

export type WatchlistRow = { entity_kind: WatchedKind; entity_key: string; added_at: Date };

const IS_IN_CATALOGUE = defineStatement({
  name: "is_in_catalogue",
  text: `select case $2
           when 'sku' then exists (select from sku s where s.shop_key = $1 and s.sku = $3)
           when 'product' then exists (select from product p where p.shop_key = $1 and p.product_gid = $3)
           else exists (select from entity e
                         where e.shop_key = $1 and e.type_rank = 3 and e.label = $3 and e.entity_key = $3
                           and e.product_group_type = $2)
         end as is_known`,
});

/** Whether the workspace ever had that entity: by the primary keys of sku, product and entity. */
export async function isInCatalogue(
  database: Queryable,
  shopKey: number,
  kind: WatchedKind,
  key: string,
): Promise<boolean> {
  const [row] = await database.rows<{ is_known: boolean }>(IS_IN_CATALOGUE, [shopKey, kind, key]);
  return row?.is_known === true;
}

const INSERT_WATCHED = defineStatement({
  name: "insert_watched",
  text: `insert into watchlist_entry (shop_key, entity_kind, entity_key) values ($1, $2, $3)
         on conflict (shop_key, entity_kind, entity_key) do nothing returning 1 as made`,
});

/** Watches an entity; false when it was watched already. */
export async function insertWatched(
  database: Queryable,
  shopKey: number,
  kind: WatchedKind,
  key: string,
): Promise<boolean> {
  return (await database.rows(INSERT_WATCHED, [shopKey, kind, key])).length > 0;
}

const DELETE_WATCHED = defineStatement({
  name: "delete_watched",
  text: `delete from watchlist_entry where shop_key = $1 and entity_kind = $2 and entity_key = $3
         returning 1 as gone`,
});

/** Stops watching an entity; false when it was not watched. */
export async function deleteWatched(
  database: Queryable,
  shopKey: number,
  kind: WatchedKind,
  key: string,
): Promise<boolean> {
  return (await database.rows(DELETE_WATCHED, [shopKey, kind, key])).length > 0;
}

const LIST_WATCHED = defineStatement({
  name: "list_watched",
  text: `select entity_kind, entity_key, added_at from watchlist_entry
          where shop_key = $1 order by entity_kind, entity_key`,
});

/** What the workspace watches: a range of the primary key. */
export async function listWatched(database: Queryable, shopKey: number): Promise<WatchlistRow[]> {
  return database.rows(LIST_WATCHED, [shopKey]);
}

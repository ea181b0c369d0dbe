import { query, queryAny, requireValue } from "../../store/query.ts";
import type { WatchedKind } from "../../store/queries/alerts.ts";

type WatchlistRow = { entity_kind: WatchedKind; entity_key: string; added_at: Date };

/** Whether the workspace ever had that entity: by the primary keys of sku, product and entity. */
export const isInCatalogue = requireValue<boolean, [shopKey: number, kind: WatchedKind, key: string]>(
  "is_in_catalogue",
  `select case $2
           when 'sku' then exists (select from sku s where s.shop_key = $1 and s.sku = $3)
           when 'product' then exists (select from product p where p.shop_key = $1 and p.product_gid = $3)
           else exists (select from entity e
                         where e.shop_key = $1 and e.type_rank = 3 and e.label = $3 and e.entity_key = $3
                           and e.product_group_type = $2)
         end as is_known`,
);

/** Watches an entity; false when it was watched already. */
export const insertWatched = queryAny<[shopKey: number, kind: WatchedKind, key: string]>(
  "insert_watched",
  `insert into watchlist_entry (shop_key, entity_kind, entity_key) values ($1, $2, $3)
         on conflict (shop_key, entity_kind, entity_key) do nothing returning 1 as made`,
);

/** Stops watching an entity; false when it was not watched. */
export const deleteWatched = queryAny<[shopKey: number, kind: WatchedKind, key: string]>(
  "delete_watched",
  `delete from watchlist_entry where shop_key = $1 and entity_kind = $2 and entity_key = $3
         returning 1 as gone`,
);

/** The watchlist: a range of the primary key. */
export const listWatched = query<WatchlistRow, [shopKey: number]>(
  "list_watched",
  `select entity_kind, entity_key, added_at from watchlist_entry
          where shop_key = $1 order by entity_kind, entity_key`,
);

/** The watchlist, with the title of a product or of a SKU's product, if the catalogue has one. */
type WatchedEntityRow = WatchlistRow & { title: string | null };

/** A range of the primary key, and a look-up in that of sku or product for each. */
export const listWatchedEntities = query<WatchedEntityRow, [shopKey: number]>(
  "list_watched_entities",
  `select w.entity_kind, w.entity_key, w.added_at,
                case w.entity_kind
                  when 'sku' then (select s.product_title from sku s where s.shop_key = $1 and s.sku = w.entity_key)
                  when 'product' then (select p.title from product p where p.shop_key = $1 and p.product_gid = w.entity_key)
                end as title
           from watchlist_entry w where w.shop_key = $1 order by w.entity_kind, w.entity_key`,
);

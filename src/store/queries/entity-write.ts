import type { Connection } from "../database.ts";
import { command, cursor } from "../query.ts";
import type { EntityRow } from "./entities.ts";

type Inputs = [shopKey: number, skus: readonly string[], productGids: readonly string[]];

/** Removes the entities of some SKUs and products, and all groups. Reads the shop's entities. */
export const removeEntities = command<Inputs, Connection>(
  "remove_entities",
  `delete from entity e
          where e.shop_key = $1
            and (e.type_rank = 3
                 or e.type_rank = 1 and e.entity_key = any($2)
                 or e.type_rank = 2 and e.entity_key = any($3))`,
);

/** Opens the cursor over the entities that belong in their place. Primary keys of sku and product. */
export const openNewEntities = cursor<EntityRow, Inputs>(
  "new_entity",
  2000,
  `select 1 as type_rank, s.sku as label, s.sku as entity_key, '' as product_group_type,
            s.product_title as subtitle, s.product_gid, s.sku, s.product_title, s.vendor
       from sku s where s.shop_key = $1 and s.sku = any($2)
     union all
     select 2, p.title, p.product_gid, '', p.vendor, p.product_gid, null, p.title, p.vendor
       from product p where p.shop_key = $1 and p.product_gid = any($3)
     union all
     select 3, g.name, g.name, g.type, g.kind, null, null, null, null
       from (
         select distinct family, 'family', 'family' from product where shop_key = $1 and family is not null
         union all
         select distinct analytics_category, 'analytics_category', 'analytics category' from product
          where shop_key = $1 and analytics_category is not null
       ) g (name, type, kind)`,
);

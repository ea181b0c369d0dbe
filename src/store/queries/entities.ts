import type { Connection, Queryable } from "../database.ts";
import { command, cursor, query } from "../query.ts";
import type { Workspace } from "../workspace.ts";

/** One SKU (type_rank 1), product (2) or product group (3). */
export type EntityRow = {
  type_rank: number;
  label: string;
  entity_key: string;
  product_group_type: string;
  subtitle: string | null;
  product_gid: string | null;
  sku: string | null;
  product_title: string | null;
  vendor: string | null;
};

export type EntityFilter = { typeRank: number | null; vendor: string | null };

/** As it is listed, with the picture of its variant, else of its product. */
export type ListedEntity = EntityRow & { image_url: string | null };

/** The last row of the page before: type_rank, label, entity_key, product_group_type. */
export type EntityPosition = readonly [number, string, string, string];

const COLUMNS = `type_rank, label, entity_key, product_group_type, subtitle, product_gid, sku, product_title, vendor`;

/** Of an entity `e`; primary keys of sku and product. */
const IMAGE = `coalesce((select s.image_url from sku s where s.shop_key = $1 and s.sku = e.sku),
                (select p.image_url from product p where p.shop_key = $1 and p.product_gid = e.product_gid)) as image_url`;

/** Up to `limit` entities after `position`, in catalogue order: a range scan of entity's primary key. */
export const listEntities = query<
  ListedEntity,
  [workspace: Workspace, filter: EntityFilter, position: EntityPosition, limit: number]
>(
  "list_entities",
  `select ${COLUMNS}, ${IMAGE}
           from entity e
          where shop_key = $1 and type_rank between coalesce($2::smallint, 1) and coalesce($2, 3) and ($3::text is null or vendor = $3)
            and (type_rank, label, entity_key, product_group_type) > ($4::smallint, $5, $6, $7)
          order by type_rank, label, entity_key, product_group_type
          limit $8`,
  (workspace, filter, position, limit) => [
    workspace.shopKey,
    filter.typeRank,
    filter.vendor,
    ...position,
    limit,
  ],
);

const limitSearch = command<[milliseconds: string]>(
  "limit_search",
  "select set_config('statement_timeout', $1, true)",
);

const IS_CANDIDATE = `shop_key = $1 and ($2::smallint is null or type_rank = $2) and ($3::text is null or vendor = $3)`;

// 0.45: a name with one or two wrong letters still matches, an unrelated one does not. The operator's threshold is a setting, set
// here because Citus runs the statement on another node. Similar names are searched only if there is room for them.
const searchWithin = query<ListedEntity, unknown[]>(
  "search_entities",
  `with literal as materialized (
           select ${COLUMNS}, search_text, split_part(search_text, E'\n', 1) as name
             from entity where ${IS_CANDIDATE} and $7::boolean and search_text like $6
           union all
           select ${COLUMNS}, search_text, split_part(search_text, E'\n', 1)
             from entity where ${IS_CANDIDATE} and not $7 and strpos(search_text, $4) > 0
         ), matched as (
           select ${COLUMNS},
                  case
                    when type_rank = 1 and name = $4 then 0
                    when type_rank > 1 and name = $4 then 1
                    when type_rank > 1 and name ^@ $4 then 2
                    when type_rank > 1 and strpos(name, $4) > 0 then 3
                    when search_text ^@ $4 or strpos(search_text, E'\n' || $4) > 0 then 4
                    else 5
                  end as match_rank,
                  case when length($4) > 1 then word_similarity($4, search_text) end as similarity
             from literal
           union all
           select ${COLUMNS}, 6, word_similarity($4, search_text)
             from entity
            where ${IS_CANDIDATE} and (select count(*) from literal) < $5 and cardinality(show_trgm($4)) > 0
              and (select set_config('pg_trgm.word_similarity_threshold', '0.45', true)) is not null
              and search_text %> $4 and strpos(search_text, $4) = 0
         )
         select ${COLUMNS}, ${IMAGE}
           from matched e
          order by match_rank, case when match_rank between 1 and 3 then type_rank end desc, similarity desc, type_rank, label,
                   entity_key, product_group_type
          limit $5`,
);

/** Three letters or digits in a row: every database's locale takes them for a trigram. */
const HAS_TRIGRAM = /[a-z0-9]{3}/u;

/**
 * The best matches of a folded search text: exact SKU, then groups and products by name (exact, prefix, substring), then any field
 * by prefix, substring and similarity (pg_trgm). Throws PostgreSQL's 57014 after `longestMs`, which holds for the rest of the
 * transaction. Index entity_by_search; for a text without a trigram the workspace's part of entity's primary key.
 */
export async function searchEntities(
  transaction: Queryable,
  workspace: Workspace,
  filter: EntityFilter,
  search: { foldedText: string; limit: number; longestMs: number },
): Promise<ListedEntity[]> {
  const { foldedText, limit, longestMs } = search;
  const pattern = `%${foldedText.replaceAll(/[\\%_]/gu, "\\$&")}%`;
  await limitSearch(transaction, String(longestMs));
  return searchWithin(
    transaction,
    workspace.shopKey,
    filter.typeRank,
    filter.vendor,
    foldedText,
    limit,
    pattern,
    HAS_TRIGRAM.test(foldedText),
  );
}

type Inputs = [shopKey: number, skus: readonly string[], productGids: readonly string[]];

/** Removes the entities of some SKUs and products, and all groups. Reads the workspace's entities. */
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

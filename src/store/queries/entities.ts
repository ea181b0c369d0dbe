import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
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

/** The last row of the page before: type_rank, label, entity_key, product_group_type. */
export type EntityPosition = readonly [number, string, string, string];

const COLUMNS = `type_rank, label, entity_key, product_group_type, subtitle, product_gid, sku, product_title, vendor`;

const LIST_ENTITIES = defineStatement({
  name: "list_entities",
  text: `select ${COLUMNS}
           from entity
          where shop_key = $1 and type_rank between coalesce($2::smallint, 1) and coalesce($2, 3) and ($3::text is null or vendor = $3)
            and (type_rank, label, entity_key, product_group_type) > ($4::smallint, $5, $6, $7)
          order by type_rank, label, entity_key, product_group_type
          limit $8`,
});

/** Up to `limit` entities after `position`, in catalogue order: a range scan of entity's primary key. */
export async function listEntities(
  database: Queryable,
  workspace: Workspace,
  filter: EntityFilter,
  position: EntityPosition,
  limit: number,
): Promise<EntityRow[]> {
  return database.rows(LIST_ENTITIES, [
    workspace.shopKey,
    filter.typeRank,
    filter.vendor,
    ...position,
    limit,
  ]);
}

const IS_CANDIDATE = `shop_key = $1 and type_rank between coalesce($2::smallint, 1) and coalesce($2, 3) and ($3::text is null or vendor = $3)`;

// 0.45: a name with one or two wrong letters still matches, an unrelated one does not. Similarity takes ten times as
// long as looking for the text itself, so the rest is only asked for it when there is room for what is similar.
const SEARCH_ENTITIES = defineStatement({
  name: "search_entities",
  text: `with literal as materialized (
           select ${COLUMNS}, search_text,
                  case
                    when type_rank = 1 and search_text ^@ ($4 || E'\\n') then 0
                    when search_text ^@ $4 or strpos(search_text, E'\\n' || $4) > 0 then 1
                    else 2
                  end as match_rank
             from entity where ${IS_CANDIDATE} and strpos(search_text, $4) > 0
         ), matched as (
           select ${COLUMNS}, match_rank, word_similarity($4, search_text) as similarity from literal
           union all
           select ${COLUMNS}, 3, word_similarity($4, search_text)
             from entity
            where ${IS_CANDIDATE} and (select count(*) from literal) < $5 and strpos(search_text, $4) = 0
              and word_similarity($4, search_text) >= 0.45
         )
         select ${COLUMNS}
           from matched
          order by match_rank, similarity desc, type_rank, label, entity_key, product_group_type
          limit $5`,
});

/**
 * The best matches of a folded search text: exact SKU, then prefix of a field, then substring, then similarity
 * (pg_trgm). Scans the shop's part of entity's primary key: search_text starts with the label, a SKU's own text.
 */
export async function searchEntities(
  database: Queryable,
  workspace: Workspace,
  filter: EntityFilter,
  foldedText: string,
  limit: number,
): Promise<EntityRow[]> {
  return database.rows(SEARCH_ENTITIES, [
    workspace.shopKey,
    filter.typeRank,
    filter.vendor,
    foldedText,
    limit,
  ]);
}

import type { entities as contract } from "../contract/entities.ts";
import { fold } from "../lib/fold.ts";
import type { Queryable } from "../store/database.ts";
import { listEntities, searchEntities } from "../store/queries/entities.ts";
import type { EntityFilter, EntityPosition, EntityRow, ListedEntity } from "../store/queries/entities.ts";
import type { Workspace } from "../store/workspace.ts";
import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import { invalidRequest } from "../contract/errors.ts";
import type { EndpointCall } from "./call.ts";
import { pageOf, type CursorCodec } from "./cursor.ts";

const TYPE_RANKS = { all: null, sku: 1, product: 2, product_group: 3 } as const;
const TYPES = [null, "sku", "product", "product_group"] as const;
const BEFORE_ALL: EntityPosition = [0, "", "", ""];

/** A longer search is refused: it holds a connection that others wait for. */
const LONGEST_SEARCH_MS = 2000;
const STATEMENT_CANCELED = "57014";

/** The catalogue as selectors: by pages without q, best matches on one page with q. */
export async function entities(cursors: CursorCodec, call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const { type = "all", limit = 20, vendor = null } = input;
  const query = input.q ?? "";
  const filter = { typeRank: TYPE_RANKS[type], vendor };
  const folded = fold(query).trim();
  const binding = { workspace, endpoint: "entities", filters: [type, vendor, folded] };
  const position =
    input.cursor === undefined
      ? BEFORE_ALL
      : (cursors.decode(binding, input.cursor) as unknown as EntityPosition);

  const found =
    folded === ""
      ? await listEntities(database, workspace, filter, position, limit + 1)
      : await search(database, workspace, filter, { foldedText: folded, limit });
  const { rows, echo } = pageOf(found, limit, { cursors, binding, positionOf });
  return jsonAnswer(rows.map(presentEntity), { query, type, vendor, ...echo });
}

/** Throws `invalid_request` for a search that takes too long. */
async function search(
  database: Queryable,
  workspace: Workspace,
  filter: EntityFilter,
  text: { foldedText: string; limit: number },
): Promise<ListedEntity[]> {
  try {
    return await searchEntities(database, workspace, filter, { ...text, longestMs: LONGEST_SEARCH_MS });
  } catch (error) {
    if ((error as { code?: unknown }).code !== STATEMENT_CANCELED) throw error;
    throw invalidRequest("q takes too long to search for: make it shorter or more specific.", "q");
  }
}

function positionOf(row: EntityRow): EntityPosition {
  return [row.type_rank, row.label, row.entity_key, row.product_group_type];
}

function presentEntity(row: ListedEntity) {
  const isGroup = row.type_rank === TYPE_RANKS.product_group;
  return {
    type: TYPES[row.type_rank],
    label: row.label,
    subtitle: row.subtitle,
    product_gid: row.product_gid,
    sku: row.sku,
    product_title: row.product_title,
    vendor: row.vendor,
    product_group_type: isGroup ? row.product_group_type : null,
    product_group_key: isGroup ? row.entity_key : null,
    selector: selectorOf(row),
    product_image_url: row.image_url,
  };
}

function selectorOf(row: EntityRow) {
  if (row.type_rank === TYPE_RANKS.sku) return { sku: row.sku };
  if (row.type_rank === TYPE_RANKS.product) return { product_gid: row.product_gid };
  return { product_group_type: row.product_group_type, product_group_key: row.entity_key };
}

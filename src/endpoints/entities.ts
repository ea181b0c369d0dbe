import type { entities as contract } from "../contract/entities.ts";
import { fold } from "../lib/fold.ts";
import { NoTurn, createTurns } from "../lib/turns.ts";
import type { Turns } from "../lib/turns.ts";
import type { Database } from "../store/database.ts";
import { listEntities, searchEntities } from "../store/queries/entities.ts";
import type { EntityFilter, EntityPosition, EntityRow } from "../store/queries/entities.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Answer } from "../contract/call.ts";
import { invalidRequest } from "../contract/errors.ts";
import type { Call } from "./call.ts";
import type { CursorBinding, CursorCodec } from "./cursor.ts";
import { baseMeta } from "./meta.ts";

const TYPE_RANKS = { all: null, sku: 1, product: 2, product_group: 3 } as const;
const TYPES = [null, "sku", "product", "product_group"] as const;
const BEFORE_ALL: EntityPosition = [0, "", "", ""];

type Tools = { database: Database; cursors: CursorCodec };

const SEARCHES_AT_ONCE = 2;
const LONGEST_WAIT_MS = 3000;

/** A longer search is refused: it holds a connection that others wait for. */
const LONGEST_SEARCH_MS = 2000;
const STATEMENT_CANCELED = "57014";

/**
 * The catalogue as selectors: by pages without q, best matches on one page with q. Two searches of a workspace run at
 * once, on at most half of the connections; the others stay free for other requests.
 */
export function createEntities(
  tools: Tools,
  maxConnections: number,
): (call: Call<typeof contract>) => Promise<Answer> {
  const most = Math.max(1, Math.min(SEARCHES_AT_ONCE, Math.floor(maxConnections / 2)));
  const searchTurns = createTurns({ most, longestWaitMs: LONGEST_WAIT_MS });
  return (call) => entities({ ...tools, searchTurns }, call);
}

type SearchTools = Tools & { searchTurns: Turns };

async function entities(tools: SearchTools, call: Call<typeof contract>): Promise<Answer> {
  const { database, cursors } = tools;
  const { workspace, input, now } = call;
  const { type = "all", limit = 20, vendor = null } = input;
  const query = input.q ?? "";
  const filter = { typeRank: TYPE_RANKS[type], vendor };
  const folded = fold(query).trim();
  const binding = { workspace, endpoint: "entities", filters: [type, vendor, folded] };
  const position = input.cursor === undefined ? BEFORE_ALL : readPosition(cursors, binding, input.cursor);

  const found =
    folded === ""
      ? await listEntities(database, workspace, filter, position, limit + 1)
      : await search(tools, workspace, filter, { foldedText: folded, limit });
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return {
    kind: "json",
    body: {
      data: rows.map(presentEntity),
      meta: {
        ...baseMeta(workspace, now),
        query,
        type,
        vendor,
        limit,
        returned: rows.length,
        next_cursor: last === undefined ? null : cursors.encode(binding, positionOf(last)),
      },
    },
  };
}

/** Searches when it is the workspace's turn; throws `invalid_request` for what takes too long, or waits for too long. */
async function search(
  { database, searchTurns }: SearchTools,
  workspace: Workspace,
  filter: EntityFilter,
  text: { foldedText: string; limit: number },
): Promise<EntityRow[]> {
  try {
    return await searchTurns(String(workspace.shopKey), () =>
      searchEntities(database, workspace, filter, { ...text, longestMs: LONGEST_SEARCH_MS }),
    );
  } catch (error) {
    if (error instanceof NoTurn) {
      throw invalidRequest(
        "q has to wait too long behind other searches of this workspace: send fewer at once.",
      );
    }
    if ((error as { code?: unknown }).code !== STATEMENT_CANCELED) throw error;
    throw invalidRequest("q takes too long to search for: make it shorter or more specific.");
  }
}

function readPosition(cursors: CursorCodec, binding: CursorBinding, cursor: string): EntityPosition {
  return cursors.decode(binding, cursor) as unknown as EntityPosition;
}

function positionOf(row: EntityRow): EntityPosition {
  return [row.type_rank, row.label, row.entity_key, row.product_group_type];
}

function presentEntity(row: EntityRow) {
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
  };
}

function selectorOf(row: EntityRow) {
  if (row.type_rank === TYPE_RANKS.sku) return { sku: row.sku };
  if (row.type_rank === TYPE_RANKS.product) return { product_gid: row.product_gid };
  return { product_group_type: row.product_group_type, product_group_key: row.entity_key };
}

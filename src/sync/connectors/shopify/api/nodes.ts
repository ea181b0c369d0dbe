import { SourceFailed } from "../../../connector.ts";
import { CostExceeded } from "./client.ts";
import type { ShopifyClient } from "./client.ts";
import type { Document } from "./documents.ts";
import { isObject, objectAt, textOrNullAt, flagAt, listAt, UnreadableAnswer } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";

/** Requests under way at a time. */
const CONCURRENT_REQUESTS = 3;

/** Fetches nodes by their ids, as many at a time as one request may cost. */
export type NodeReader = {
  /** So many ids are worth fetching together. */
  portion: () => number;
  /** One node or null (gone) for each id, in their order. */
  read: (ids: readonly string[]) => Promise<(Json | null)[]>;
};

/** `idsPerRequest` is the most; it is halved whenever the platform finds a request too expensive. */
export function openNodeReader(
  client: ShopifyClient,
  document: Document,
  idsPerRequest: number,
  variables: Record<string, unknown> = {},
): NodeReader {
  let size = idsPerRequest;
  const readPage = async (ids: readonly string[]): Promise<(Json | null)[]> => {
    try {
      return nodesOf(await client.query(document, { ...variables, ids }), ids.length);
    } catch (error) {
      if (!(error instanceof CostExceeded)) throw error;
      if (ids.length === 1)
        throw new SourceFailed(`Shopify finds even one node of ${document.name} too much.`);
      size = Math.min(size, Math.ceil(ids.length / 2));
      const nodes = await readPage(ids.slice(0, size));
      return [...nodes, ...(await readPage(ids.slice(size)))];
    }
  };
  return {
    portion: () => size * CONCURRENT_REQUESTS,
    read: async (ids) => {
      const pages: (readonly string[])[] = [];
      for (let from = 0; from < ids.length; from += size) pages.push(ids.slice(from, from + size));
      return (await allOf(pages.map(readPage))).flat();
    },
  };
}

/** Settles all before it throws: a request that is left behind would outlive its run. */
export async function allOf<Value>(promises: readonly Promise<Value>[]): Promise<Value[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function nodesOf(data: Json, count: number): (Json | null)[] {
  const nodes = data["nodes"];
  if (!Array.isArray(nodes) || nodes.length !== count) {
    throw new UnreadableAnswer("QueryRoot.nodes should be one node for each id");
  }
  return nodes.map((node) => (isObject(node) ? node : null));
}

/** A connection's nodes, and where the next page begins (null = there is none). */
export type Page = { nodes: Json[]; next: string | null };

export function pageAt(parent: Json, name: string, type: string): Page {
  const connection = objectAt(parent, name, type);
  return { nodes: listAt(connection, "nodes", `${type}.${name}`), next: nextOf(connection) };
}

export function nextOf(connection: Json): string | null {
  const info = objectAt(connection, "pageInfo", "a connection");
  return flagAt(info, "hasNextPage", "PageInfo") ? textOrNullAt(info, "endCursor", "PageInfo") : null;
}

/** The nodes of a first page and of all that follow it; `read` fetches the page after a cursor. */
export async function allNodes(first: Page, read: (after: string) => Promise<Page>): Promise<Json[]> {
  const nodes = [...first.nodes];
  for (let { next } = first; next !== null;) {
    const page = await read(next);
    nodes.push(...page.nodes);
    next = page.next;
  }
  return nodes;
}

import { SourceFailed } from "../../../connector.ts";
import { UnreadableAnswer } from "../../shared/foreign.ts";
import { CostExceeded, type ShopifyClient } from "./client.ts";
import type { Document } from "./documents.ts";
import { TITLE } from "./objects.ts";

/** Requests under way at a time. */
const CONCURRENT_REQUESTS = 3;

/** Fetches nodes by their ids, as many at a time as one request may cost. */
export type NodeReader<Node> = {
  /** How many ids are worth fetching together. */
  portion: () => number;
  /** One node or null (gone) for each id, in their order. */
  read: (ids: readonly string[]) => Promise<(Node | null)[]>;
};

/** `idsPerRequest` is the most; it is halved whenever the platform finds a request too expensive. */
export function openNodeReader<Node extends { id: string }>(
  client: ShopifyClient,
  document: Document<{ nodes: (Node | null)[] }>,
  idsPerRequest: number,
): NodeReader<Node> {
  let size = idsPerRequest;
  const readPage = async (ids: readonly string[]): Promise<(Node | null)[]> => {
    try {
      const { nodes } = await client.query(document, { ids });
      const others = nodes.filter((node) => node !== null && !ids.includes(node.id)).length;
      if (nodes.length === ids.length && others === 0) return nodes;
      const found = `${nodes.length - others} for ${ids.length}`;
      const anomaly = { field: "QueryRoot.nodes", expected: "one node for each id", found };
      throw new UnreadableAnswer(TITLE, anomaly, null);
    } catch (error) {
      if (!(error instanceof CostExceeded)) throw error;
      if (ids.length === 1)
        throw new SourceFailed(`Shopify refused even one node of ${document.name} as too expensive.`);
      const half = Math.ceil(ids.length / 2);
      size = Math.min(size, half);
      const nodes = await readPage(ids.slice(0, half));
      return [...nodes, ...(await readPage(ids.slice(half)))];
    }
  };
  return {
    portion: () => size * CONCURRENT_REQUESTS,
    read: async (ids) => {
      const pages: (readonly string[])[] = [];
      for (let from = 0; from < ids.length; from += size) pages.push(ids.slice(from, from + size));
      const nodes = (await allOf(pages.map(readPage))).flat().filter((node) => node !== null);
      const byId = new Map(nodes.map((node) => [node.id, node]));
      return ids.map((id) => byId.get(id) ?? null);
    },
  };
}

/** Settles all before it throws: a request that is left behind would outlive its run. */
export async function allOf<Value>(promises: readonly Promise<Value>[]): Promise<Value[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** A page of items, and where the next one begins. */
export type NodePage<Item> = {
  nodes: Item[];
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
};

/** The cursor of the page behind one; null = there is none. */
export function nextOf({ pageInfo }: NodePage<unknown>): string | null {
  return pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null;
}

/** The items of a first page and of all that follow it; `read` fetches the page after a cursor. */
export async function allPages<Item>(
  first: NodePage<Item>,
  read: (after: string) => Promise<NodePage<Item> | undefined>,
): Promise<Item[]> {
  const items = [...first.nodes];
  for (let after = nextOf(first); after !== null;) {
    const page = await read(after);
    items.push(...(page?.nodes ?? []));
    after = page === undefined ? null : nextOf(page);
  }
  return items;
}

/** The same for a connection of one object, by the document of its further pages. */
export async function allNodes<Item>(
  client: ShopifyClient,
  first: NodePage<Item>,
  further: Document<{ parent: { page: NodePage<Item> } }>,
  id: string,
): Promise<Item[]> {
  return allPages(first, async (after) => (await client.query(further, { id, after })).parent.page);
}

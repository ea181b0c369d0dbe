import { addPending } from "../../../../store/queries/sync-record.ts";
import { askForOpenReturns } from "../../../../store/queries/shopify-record.ts";
import { timeOf } from "../../shared/text.ts";
import { DOCUMENTS, productsDocument } from "../api/documents.ts";
import { nextOf, allNodes, openNodeReader } from "../api/nodes.ts";
import { toProduct, toVariant } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";
import { SHOPIFY } from "../run.ts";
import type { StoredRecord } from "./downloads.ts";
import { drainPending } from "./drain.ts";

const PRODUCTS_PER_REQUEST = 20;

/** All products that were asked for, with their variants. A product that is gone stays as it was last known. */
export async function fetchProducts(run: ShopifyRun): Promise<void> {
  const { client } = run;
  const reader = openNodeReader(client, productsDocument(run.shop.familyMetafield), PRODUCTS_PER_REQUEST);
  await drainPending(run, "product", reader.portion, async (productIds) => {
    const products: StoredRecord[] = [];
    for (const node of await reader.read(productIds)) {
      if (node === null) continue;
      const variants = await allNodes(client, node.variants, DOCUMENTS.productVariants, node.id);
      const record = { product: toProduct(node), variants: variants.map(toVariant) };
      products.push({ part: "whole_product", recordId: node.id, parentId: null, record });
    }
    return products;
  });
}

/** What changed shortly before the last list may not have been in it yet, and clocks differ. */
const OVERLAP_MS = 10 * 60_000;
/** The pages of one list end at 25,000 records; a longer one is taken up from the last update time seen. */
const MAX_LISTED = 20_000;

type Listing = {
  document: typeof DOCUMENTS.changedOrders;
  field: "orders" | "products";
  kind: string;
  filter: string | null;
};

/** Asks for every order and product that changed since a moment. */
export async function listChanges(run: ShopifyRun, since: string): Promise<void> {
  const from = new Date(Date.parse(since) - OVERLAP_MS).toISOString();
  const { changedOrders, changedProducts } = DOCUMENTS;
  await listRecords(run, { document: changedOrders, field: "orders", kind: "order", filter: null }, from);
  await listRecords(
    run,
    { document: changedProducts, field: "products", kind: "product", filter: null },
    from,
  );
}

/**
 * Asks for every order with a return under way, by the platform's word or by what is stored: a change of a return may
 * not move its order's update time, and one that has ended is in no list.
 */
export async function listOpenReturns(run: ShopifyRun): Promise<void> {
  const filter = "(return_status:return_requested OR return_status:in_progress)";
  await listRecords(run, { document: DOCUMENTS.changedOrders, field: "orders", kind: "order", filter }, null);
  await askForOpenReturns(run.database, run.shopKey, SHOPIFY, "order");
}

/** `since` null = from the first. */
async function listRecords(run: ShopifyRun, listing: Listing, since: string | null): Promise<void> {
  const { document, field, kind } = listing;
  let from = since;
  let listed = 0;
  let after = null as string | null;
  let listedFrom = 0;
  for (;;) {
    run.signal.throwIfAborted();
    const { page } = await run.client.query(document, { query: queryOf(listing, from), after });
    const ids = page.nodes.map((node) => node.id);
    await addPending(run.database, run.shopKey, SHOPIFY, kind, ids);
    listed += ids.length;
    listedFrom += ids.length;
    run.progress({ stage: `changed ${field}`, done: listed, total: null });
    after = nextOf(page);
    const last = page.nodes.at(-1);
    const lastAt: string | null = last === undefined ? from : timeOf(last.updatedAt);
    if (after !== null && listedFrom >= MAX_LISTED && lastAt !== from) {
      [from, after, listedFrom] = [lastAt, null, 0];
    } else if (after === null) {
      return;
    }
  }
}

function queryOf({ filter }: Listing, from: string | null): string | null {
  const parts = [filter, from === null ? null : `updated_at:>='${from}'`].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(" AND ");
}

import { DOCUMENTS, productsDocument } from "../api/documents.ts";
import { allNodes, openNodeReader } from "../api/nodes.ts";
import { toProduct, toVariant } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";
import { drainPending } from "./drain.ts";
import type { StoredRecord } from "./downloads.ts";

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

import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { drainPending } from "./drain.ts";
import { naming, objectAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { allNodes, openNodeReader, pageAt } from "../api/nodes.ts";
import { readProduct, readVariant } from "../map/read-product.ts";
import type { ShopifyProduct } from "../map/records.ts";
import type { ShopifyRun } from "../run.ts";

const PRODUCTS_PER_REQUEST = 20;

/** All products that were asked for, with their variants. A product that is gone stays as it was last known. */
export async function fetchProducts(run: ShopifyRun): Promise<void> {
  const { familyMetafield } = run.shop;
  const reader = openNodeReader(run.client, DOCUMENTS.products, PRODUCTS_PER_REQUEST, {
    hasMetafield: familyMetafield !== null,
    namespace: familyMetafield?.namespace ?? "",
    key: familyMetafield?.key ?? "",
  });
  await drainPending(run, "product", reader.portion, async (productIds) => {
    const nodes = (await reader.read(productIds)).filter((node) => node !== null);
    const products: ShopifyProduct[] = [];
    for (const node of nodes) products.push(await naming(node, () => completeProduct(run.client, node)));
    return products.map((record) => ({
      part: "whole_product",
      recordId: record.product.id,
      parentId: null,
      record,
    }));
  });
}

async function completeProduct(client: ShopifyClient, node: Json): Promise<ShopifyProduct> {
  const product = readProduct(node);
  const variants = await allNodes(pageAt(node, "variants", "Product"), async (after) => {
    const data = await client.query(DOCUMENTS.productVariants, { id: product.id, after });
    return pageAt(objectAt(data, "product", "QueryRoot"), "variants", "Product");
  });
  return { product, variants: variants.map(readVariant) };
}

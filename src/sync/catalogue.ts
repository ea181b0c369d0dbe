import { fold } from "../lib/fold.ts";
import type { Connection } from "../store/database.ts";
import {
  insertSkus,
  putLineProducts,
  putProducts,
  putVariants,
  removeSkus,
  touchProductsOfSkus,
  touchSkusOfProducts,
} from "../store/queries/catalogue.ts";
import { openNewEntities, removeEntities } from "../store/queries/entity-write.ts";
import type { EntityRow } from "../store/queries/entities.ts";
import { openCopyBuffer } from "./copy.ts";

/** Stores the staged products and variants; returns how many are new or different. */
export async function putCatalogue(connection: Connection, shopKey: number): Promise<number> {
  const changedProducts = await putProducts(connection, shopKey);
  const changedVariants = await putVariants(connection, shopKey);
  return changedProducts + changedVariants;
}

/** Recomputes the rows of touched products and SKUs, with their entities and all groups. Needs the facts in place. */
export async function deriveCatalogue(connection: Connection, shopKey: number): Promise<void> {
  await touchProductsOfSkus(connection, shopKey);
  await putLineProducts(connection, shopKey);
  await touchSkusOfProducts(connection, shopKey);
  await removeSkus(connection, shopKey);
  await insertSkus(connection, shopKey);
  await deriveEntities(connection, shopKey);
}

async function deriveEntities(connection: Connection, shopKey: number): Promise<void> {
  const buffer = openCopyBuffer(
    connection,
    `entity (shop_key, type_rank, label, entity_key, product_group_type, subtitle, product_gid, sku, product_title,
             vendor, search_text)`,
  );
  await removeEntities(connection, shopKey);
  const next = await openNewEntities(connection, shopKey);
  for (let rows = await next(); rows.length > 0; rows = await next()) {
    for (const row of rows) {
      buffer.add([
        shopKey,
        row.type_rank,
        row.label,
        row.entity_key,
        row.product_group_type,
        row.subtitle,
        row.product_gid,
        row.sku,
        row.product_title,
        row.vendor,
        searchTextOf(row),
      ]);
    }
    await buffer.send();
  }
}

/** Label, SKU, product title and vendor, each once; the label first. */
function searchTextOf(row: EntityRow): string {
  const texts = [row.label, row.sku, row.product_title, row.vendor].filter((text) => text !== null);
  return [...new Set(texts.map(fold))].join("\n");
}

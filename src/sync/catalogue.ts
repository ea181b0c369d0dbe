import { fold } from "../lib/fold.ts";
import type { Connection } from "../store/database.ts";
import {
  insertSkus,
  listLineProducts,
  listProducts,
  listProductsOfSkus,
  listSkusOfProducts,
  listVariants,
  markProductMonths,
  putLineProducts,
  putProducts,
  putVariants,
  removeProducts,
  removeSkus,
  type ProductRow,
} from "../store/queries/catalogue.ts";
import { openNewEntities, removeEntities, type EntityRow } from "../store/queries/entities.ts";
import { openStagedProducts, openStagedVariants } from "../store/queries/import-stage.ts";
import { addAll, type ChangedKeys } from "./changed-keys.ts";
import { openCopyBuffer } from "./copy.ts";
import { putChanged } from "./portions.ts";

/** Stores the staged products and variants; returns how many are new or different. */
export async function putCatalogue(
  connection: Connection,
  shopKey: number,
  changedKeys: ChangedKeys,
): Promise<number> {
  const regrouped: string[] = [];
  const changedProducts = await putChanged(
    await openStagedProducts(connection),
    (row) => row.product_gid,
    (keys) => listProducts(connection, shopKey, keys),
    (rows) => putProducts(connection, shopKey, rows),
    (row, stored) => {
      changedKeys.products.add(row.product_gid);
      if (stored !== undefined && isRegrouped(row, stored)) regrouped.push(row.product_gid);
    },
  );
  if (regrouped.length > 0) await markProductMonths(connection, shopKey, regrouped);
  const changedVariants = await putChanged(
    await openStagedVariants(connection),
    (row) => row.variant_id,
    (keys) => listVariants(connection, shopKey, keys),
    (rows) => putVariants(connection, shopKey, rows),
    (row, stored) => {
      changedKeys.variants.add(row.variant_id);
      addAll(changedKeys.products, [row.product_gid, stored?.product_gid ?? null]);
      addAll(changedKeys.skus, [row.sku, stored?.sku ?? null]);
    },
  );
  return changedProducts + changedVariants;
}

function isRegrouped(row: ProductRow, stored: ProductRow): boolean {
  return (["family", "analytics_category", "vendor"] as const).some((group) => row[group] !== stored[group]);
}

/** Recomputes the rows of changed products and SKUs, with their entities and all groups. Needs the facts in place. */
export async function deriveCatalogue(
  connection: Connection,
  shopKey: number,
  { products, skus }: Pick<ChangedKeys, "products" | "skus">,
): Promise<void> {
  addAll(products, await listProductsOfSkus(connection, shopKey, [...skus]));
  await deriveLineProducts(connection, shopKey, [...products]);
  addAll(skus, await listSkusOfProducts(connection, shopKey, [...products]));
  await removeSkus(connection, shopKey, [...skus]);
  await insertSkus(connection, shopKey, [...skus]);
  await deriveEntities(connection, shopKey, [...skus], [...products]);
}

/**
 * Updates the products that no source describes from order lines and variants, removes unreferenced ones, and marks the
 * months of those whose vendor changed.
 */
async function deriveLineProducts(
  connection: Connection,
  shopKey: number,
  productGids: readonly string[],
): Promise<void> {
  const rows = await listLineProducts(connection, shopKey, productGids);
  const gidsOf = (some: typeof rows): string[] => some.map((row) => row.product_gid);
  const moved = rows.filter((row) => row.is_moved);
  const named = rows.filter((row) => row.is_named);
  const gone = rows.filter((row) => !row.is_named);
  if (moved.length > 0) await markProductMonths(connection, shopKey, gidsOf(moved));
  if (gone.length > 0) await removeProducts(connection, shopKey, gidsOf(gone));
  if (named.length > 0) await putLineProducts(connection, shopKey, named);
}

async function deriveEntities(
  connection: Connection,
  shopKey: number,
  skus: readonly string[],
  productGids: readonly string[],
): Promise<void> {
  const buffer = openCopyBuffer(
    connection,
    `entity (shop_key, type_rank, label, entity_key, product_group_type, subtitle, product_gid, sku, product_title,
             vendor, search_text)`,
  );
  await removeEntities(connection, shopKey, skus, productGids);
  const next = await openNewEntities(connection, shopKey, skus, productGids);
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

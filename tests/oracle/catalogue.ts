import { byCodePoint, minorOf } from "./numbers.ts";
import type { OrderLineRow, ProductRow, VariantRow } from "./store.ts";

/** What a line is of: its own word, else its variant's. */
export type ResolvedLine = {
  productGid: string | null;
  sku: string | null;
  used: boolean;
  unitCostMinor: number | null;
};

export type Catalogue = {
  products: { gid: string; vendor: string | null; family: string | null; analyticsCategory: string | null }[];
  skus: { sku: string; productGid: string | null; used: boolean; counterpartSku: string | null }[];
  variants: (ResolvedLine & { variantId: string })[];
};

export type CatalogueRows = { products: ProductRow[]; variants: VariantRow[]; orderLines: OrderLineRow[] };

/** Everything any row names: also products and SKUs that only variants or order lines know. */
export function catalogueOf(rows: CatalogueRows, currencyCode: string): Catalogue {
  const catalogue: Catalogue = { products: [], skus: [], variants: [] };
  for (const product of rows.products) {
    catalogue.products.push({
      gid: gidOf(product.product_id),
      vendor: product.vendor ?? null,
      family: product.family?.trim() || null,
      analyticsCategory: product.analytics_category?.trim() || null,
    });
  }
  const addProduct = (gid: string | null): void => {
    if (gid === null || catalogue.products.some((product) => product.gid === gid)) return;
    catalogue.products.push({ gid, vendor: null, family: null, analyticsCategory: null });
  };
  for (const variant of rows.variants) {
    const productGid = gidOf(variant.product_id);
    addProduct(productGid);
    const used = variant.condition === "used";
    const sku = variant.sku ?? null;
    const cost = variant.unit_cost;
    const unitCostMinor = cost === undefined ? null : minorOf(cost, currencyCode);
    catalogue.variants.push({ variantId: variant.variant_id, productGid, sku, used, unitCostMinor });
  }
  // A SKU is what its new variant says, and of several the first one.
  const byCondition = rows.variants.toSorted(
    (left, right) =>
      Number(left.condition === "used") - Number(right.condition === "used") ||
      byCodePoint(left.variant_id, right.variant_id),
  );
  for (const { sku, product_id: productId, condition, counterpart_sku: counterpart } of byCondition) {
    if (sku === undefined || catalogue.skus.some((entry) => entry.sku === sku)) continue;
    const entry = { sku, productGid: gidOf(productId), used: condition === "used" };
    catalogue.skus.push({ ...entry, counterpartSku: counterpart ?? null });
  }
  for (const row of rows.orderLines) {
    const { productGid, sku, used } = resolveLine(catalogue, row);
    addProduct(productGid);
    if (sku !== null && !catalogue.skus.some((entry) => entry.sku === sku)) {
      catalogue.skus.push({ sku, productGid, used, counterpartSku: null });
    }
  }
  return catalogue;
}

/** A line's variant is the one it names, else the one of its SKU. */
export function resolveLine(catalogue: Catalogue, row: OrderLineRow): ResolvedLine {
  const variant =
    catalogue.variants.find((candidate) => candidate.variantId === row.variant_id) ??
    catalogue.variants.find((candidate) => row.sku !== undefined && candidate.sku === row.sku);
  return {
    productGid: row.product_id === undefined ? (variant?.productGid ?? null) : gidOf(row.product_id),
    sku: row.sku ?? variant?.sku ?? null,
    used: variant?.used ?? false,
    unitCostMinor: variant?.unitCostMinor ?? null,
  };
}

function gidOf(productId: string): string {
  return `gid://import/Product/${productId}`;
}

import { byCodePoint, minorOf } from "./numbers.ts";
import type { OrderLineRow, OracleProduct, OracleVariant } from "./store.ts";

/** What a line sold: its own values, else its variant's. */
export type ResolvedLine = {
  productGid: string | null;
  sku: string | null;
  used: boolean;
  /** For a used line, the SKU of the new counterpart that its variant names. */
  counterpartSku: string | null;
  /** Its product's; a line without a product may name one. */
  vendor: string | null;
  unitCostMinor: number | null;
  variantId: string | null;
  /** Of its variant, names and values, in their order. */
  options: readonly (readonly [name: string, value: string])[];
};

export type OracleCatalogue = {
  products: { gid: string; vendor: string | null; family: string | null; analyticsCategory: string | null }[];
  skus: { sku: string; productGid: string | null; used: boolean; vendor: string | null }[];
  variants: Omit<ResolvedLine, "vendor">[];
  /** Products that variants name and no product row describes. */
  onlyVariants: Set<string>;
};

export type CatalogueRows = {
  products: OracleProduct[];
  variants: OracleVariant[];
  orderLines: OrderLineRow[];
  /** M14: the last day on which a line sold units. */
  lastSoldDay: (row: OrderLineRow) => number;
};

/** Everything that any row names, including products and SKUs that only variants or order lines name. */
export function catalogueOf(rows: CatalogueRows, currencyCode: string): OracleCatalogue {
  const catalogue: OracleCatalogue = { products: [], skus: [], variants: [], onlyVariants: new Set() };
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
    if (!catalogue.products.some((product) => product.gid === productGid)) {
      catalogue.onlyVariants.add(productGid);
    }
    addProduct(productGid);
    const used = variant.condition === "used";
    const sku = variant.sku ?? null;
    const cost = variant.unit_cost;
    const unitCostMinor = cost === undefined ? null : minorOf(cost, currencyCode);
    const counterpartSku = used ? (variant.counterpart_sku ?? null) : null;
    catalogue.variants.push({
      variantId: variant.variant_id,
      productGid,
      sku,
      used,
      counterpartSku,
      unitCostMinor,
      options: [
        [variant.option1_name, variant.option1_value] as const,
        [variant.option2_name, variant.option2_value] as const,
      ].flatMap(([name, value]) =>
        name === undefined || value === undefined ? [] : [[name, value] as const],
      ),
    });
  }
  // A SKU takes the values of its new variant, the first of several.
  const byCondition = rows.variants.toSorted(
    (left, right) =>
      Number(left.condition === "used") - Number(right.condition === "used") ||
      byCodePoint(left.variant_id, right.variant_id),
  );
  for (const { sku, product_id: productId, condition } of byCondition) {
    if (sku === undefined || catalogue.skus.some((entry) => entry.sku === sku)) continue;
    const productGid = gidOf(productId);
    catalogue.skus.push({
      sku,
      productGid,
      used: condition === "used",
      vendor: null,
    });
  }
  describeFromLines(catalogue, rows, addProduct);
  return catalogue;
}

/** M14: values that only lines have come from the line sold last among those that have them. */
function describeFromLines(
  catalogue: OracleCatalogue,
  { orderLines, lastSoldDay }: CatalogueRows,
  addProduct: (gid: string | null) => void,
): void {
  const described = new Set(catalogue.products.map((product) => product.gid));
  const known = new Set(catalogue.skus.map((entry) => entry.sku));
  const latestFirst = orderLines
    .map((row) => ({ row, day: lastSoldDay(row) }))
    .toSorted(
      (left, right) =>
        right.day - left.day ||
        byCodePoint(right.row.order_id, left.row.order_id) ||
        byCodePoint(right.row.line_id, left.row.line_id),
    );
  const resolved = latestFirst.map(({ row }) => ({ row, line: resolveLine(catalogue, row) }));
  for (const { line } of resolved) addProduct(line.productGid);
  for (const product of catalogue.products) {
    if (described.has(product.gid) && !catalogue.onlyVariants.has(product.gid)) continue;
    const named = resolved.find(
      ({ row, line }) => line.productGid === product.gid && row.vendor !== undefined,
    );
    product.vendor = named?.row.vendor ?? null;
  }
  for (const entry of catalogue.skus) entry.vendor = vendorOf(catalogue, entry.productGid);
  for (const { line } of resolved) {
    const { sku } = line;
    if (sku === null || known.has(sku)) continue;
    known.add(sku);
    const ofSku = resolved.filter((other) => other.line.sku === sku);
    const productGid = ofSku.find((other) => other.line.productGid !== null)?.line.productGid ?? null;
    const named = ofSku.find(({ row }) => row.vendor !== undefined)?.row.vendor ?? null;
    const vendor = productGid === null ? named : vendorOf(catalogue, productGid);
    catalogue.skus.push({ sku, productGid, used: line.used, vendor });
  }
}

/** A line's variant is the one that it names, else that of its SKU. */
export function resolveLine(catalogue: OracleCatalogue, row: OrderLineRow): ResolvedLine {
  const variant =
    catalogue.variants.find((candidate) => candidate.variantId === row.variant_id) ??
    catalogue.variants.find((candidate) => row.sku !== undefined && candidate.sku === row.sku);
  const productGid = row.product_id === undefined ? (variant?.productGid ?? null) : gidOf(row.product_id);
  return {
    productGid,
    sku: row.sku ?? variant?.sku ?? null,
    used: variant?.used ?? false,
    counterpartSku: variant?.counterpartSku ?? null,
    vendor: productGid === null ? (row.vendor ?? null) : vendorOf(catalogue, productGid),
    unitCostMinor: variant?.unitCostMinor ?? null,
    variantId: variant?.variantId ?? null,
    options: variant?.options ?? [],
  };
}

function vendorOf({ products }: OracleCatalogue, gid: string | null): string | null {
  return products.find((product) => product.gid === gid)?.vendor ?? null;
}

function gidOf(productId: string): string {
  return `gid://import/Product/${productId}`;
}

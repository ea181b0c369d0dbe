/** What the small store sells, when, and what comes back of it. */
export const STORE_MONTHS = Array.from({ length: 18 }, (_, index) =>
  new Date(Date.UTC(2025, index, 1)).toISOString().slice(0, 7),
);

export type Product = { gid: string; title: string; vendor: string | null; family: string; category: string };
export type Sku = { sku: string; product: Product; isUsed: boolean; counterpart: string | null };

export const jacket = product(1, "Crème Jacket", "Nordwind", "Outerwear", "Jackets");
export const shirt = product(2, "Plain Shirt", "Südstern", "Tops", "Shirts");
export const hat = product(3, "Hat", null, "Tops", "Hats");

export const SKUS: readonly Sku[] = [
  { sku: "HAT-1", product: hat, isUsed: false, counterpart: null },
  { sku: "JACKET-M", product: jacket, isUsed: false, counterpart: null },
  { sku: "JACKET-M-USED", product: jacket, isUsed: true, counterpart: "JACKET-M" },
  { sku: "JACKET-S", product: jacket, isUsed: false, counterpart: null },
  { sku: "SHIRT-M", product: shirt, isUsed: false, counterpart: null },
  { sku: "SHIRT-S", product: shirt, isUsed: false, counterpart: null },
];

function product(
  number: number,
  title: string,
  vendor: string | null,
  family: string,
  category: string,
): Product {
  return { gid: `gid://shopify/Product/${number}`, title, vendor, family, category };
}

export const soldUnits = (skuIndex: number, monthIndex: number): number =>
  20 + skuIndex * 3 + (monthIndex % 4);
export const returnedUnits = (skuIndex: number, monthIndex: number): number =>
  1 + ((skuIndex + monthIndex) % 5);
export const REFUND_MINOR = 1999;
export const LABEL_MINOR = 450;
export const LAG_DAYS = 12;

export const PLAN_REQUEST = {
  plan_key: "scale",
  reason: "We need the CSV.",
  asked_by: "owner",
  asked_at: "2026-06-30T12:00:00Z",
};

export const UNMATCHED_LABEL = {
  source: "labels",
  label_id: "unmatched",
  charged_at: "2025-06-17T00:00:00Z",
  amount_minor: LABEL_MINOR,
  currency_code: "EUR",
};

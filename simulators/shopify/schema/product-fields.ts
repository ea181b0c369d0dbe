import { childNumber, gid, legacyId } from "../world/ids.ts";
import { decimalOf } from "../world/money.ts";
import type { Product, Variant } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { isoTime, moneyV2, typeFields } from "./resolver.ts";
import type { ResolversByType, Source } from "./resolver.ts";

export interface ProductSource extends Source {
  product: Product;
}

export interface VariantSource extends ProductSource {
  variant: Variant;
}

export function productSource(product: Product): ProductSource {
  return { typeName: "Product", product };
}

export function variantSource(product: Product | null, variant: Variant | null): VariantSource | null {
  if (product === null || variant === null) return null;
  return { typeName: "ProductVariant", product, variant };
}

/** Some products carry the family that a shop might choose to report by. */
function metafieldOf(source: ProductSource, namespace: string | null, key: string): Source | null {
  const { number } = source.product;
  if (namespace !== "custom" || key !== "analytics_family" || number % 4 === 0) return null;
  return { typeName: "Metafield", number, value: `Family ${number % 3}` } as Source;
}

function variantNumber({ product, variant }: VariantSource): number {
  return childNumber(product.number, variant.position);
}

const product = typeFields<ProductSource>({
  id: ({ product: { number } }) => gid("Product", number),
  legacyResourceId: ({ product: { number } }) => legacyId("Product", number),
  title: ({ product: { title } }) => title,
  handle: ({ product: { handle } }) => handle,
  vendor: ({ product: { vendor } }) => vendor,
  productType: ({ product: { productType } }) => productType,
  tags: ({ product: { tags } }) => tags,
  status: () => "ACTIVE",
  isGiftCard: ({ product: { giftCard } }) => giftCard,
  createdAt: ({ product: { createdAt } }) => isoTime(createdAt),
  updatedAt: ({ product: { updatedAt } }) => isoTime(updatedAt),
  publishedAt: ({ product: { createdAt } }) => isoTime(createdAt),
  category: (source) =>
    source.product.category === null ? null : { ...source, typeName: "TaxonomyCategory" },
  featuredMedia: (source) => (source.product.image ? { ...source, typeName: "MediaImage" } : null),
  metafield: (source, { namespace, key }) => metafieldOf(source, namespace ?? null, key ?? ""),
  options: ({ product: { optionNames, variants, number } }) =>
    optionNames.map((name, index) => ({
      typeName: "ProductOption",
      id: childNumber(number, index),
      name,
      position: index + 1,
      values: [...new Set(variants.map((variant) => variant.optionValues[index]))],
    })),
  hasOnlyDefaultVariant: ({ product: { optionNames } }) => optionNames[0] === "Title",
  totalInventory: () => 0,
  variantsCount: ({ product: { variants } }) => ({ typeName: "Count", count: variants.length }),
  variants: (source) =>
    listOf(source.product.variants.map((variant) => variantSource(source.product, variant))),
});

const variant = typeFields<VariantSource>({
  id: (source) => gid("ProductVariant", variantNumber(source)),
  legacyResourceId: (source) => legacyId("ProductVariant", variantNumber(source)),
  product: ({ product: owner }) => productSource(owner),
  sku: (source) => source.variant.sku,
  barcode: () => null,
  title: (source) => source.variant.optionValues.join(" / "),
  displayName: ({ product: owner, variant: { optionValues } }) =>
    `${owner.title} - ${optionValues.join(" / ")}`,
  position: (source) => source.variant.position,
  price: (source, _args, { shop }) => decimalOf(source.variant.priceMinor, shop.world.exponent),
  createdAt: ({ product: owner }) => isoTime(owner.createdAt),
  updatedAt: ({ product: owner }) => isoTime(owner.updatedAt),
  taxable: () => true,
  availableForSale: () => true,
  inventoryItem: (source) => ({ ...source, typeName: "InventoryItem" }),
  metafield: () => null,
  selectedOptions: ({ product: owner, variant: { optionValues } }) =>
    owner.optionNames.map((name, index) => ({
      typeName: "SelectedOption",
      name,
      value: optionValues[index],
    })),
});

const inventoryItem = typeFields<VariantSource>({
  id: (source) => gid("InventoryItem", variantNumber(source)),
  legacyResourceId: (source) => legacyId("InventoryItem", variantNumber(source)),
  sku: (source) => source.variant.sku,
  tracked: () => true,
  requiresShipping: ({ product: { giftCard } }) => !giftCard,
  createdAt: ({ product: owner }) => isoTime(owner.createdAt),
  updatedAt: ({ product: owner }) => isoTime(owner.updatedAt),
  unitCost: ({ variant: { unitCostMinor } }) => (unitCostMinor === null ? null : moneyV2(unitCostMinor)),
});

const category = typeFields<ProductSource>({
  id: ({ product: { category: fullName } }) =>
    `gid://shopify/TaxonomyCategory/${(fullName ?? "").toLowerCase().replaceAll(/[^a-z]+/g, "-")}`,
  fullName: ({ product: { category: fullName } }) => fullName,
  name: ({ product: { category: fullName } }) => fullName?.split(" > ").at(-1),
  level: ({ product: { category: fullName } }) => fullName?.split(" > ").length,
  isLeaf: () => true,
  isRoot: () => false,
  isArchived: () => false,
});

/** The picture's address belongs to no shop: nothing is ever fetched from it. */
function imageUrl({ product: { number } }: ProductSource): string {
  return `https://cdn.shopify.example/files/product-${number}.jpg`;
}

const media = typeFields<ProductSource>({
  id: ({ product: { number } }) => gid("MediaImage", number),
  alt: ({ product: { title, number } }) => (number % 3 === 0 ? null : `Photo of ${title}`),
  mediaContentType: () => "IMAGE",
  status: () => "READY",
  preview: (source) => ({ ...source, typeName: "MediaPreviewImage" }),
  image: (source) => ({ ...source, typeName: "Image" }),
});

export const productFields: ResolversByType = {
  Product: product,
  ProductVariant: variant,
  InventoryItem: inventoryItem,
  TaxonomyCategory: category,
  MediaImage: media,
  MediaPreviewImage: typeFields<ProductSource>({
    status: () => "READY",
    image: (source) => ({ ...source, typeName: "Image" }),
  }),
  Image: typeFields<ProductSource>({
    id: ({ product: { number } }) => gid("ProductImage", number),
    url: (source) => imageUrl(source),
    altText: ({ product: { title, number } }) => (number % 3 === 0 ? null : `Photo of ${title}`),
    width: () => 1200,
    height: () => 1600,
  }),
  ProductOption: typeFields<Source & { id: number; name: string; position: number; values: string[] }>({
    id: ({ id }) => gid("ProductOption", id),
    name: ({ name }) => name,
    position: ({ position }) => position,
    values: ({ values }) => values,
  }),
  SelectedOption: typeFields<Source & { name: string; value: string }>({
    name: ({ name }) => name,
    value: ({ value }) => value,
  }),
  Metafield: typeFields<Source & { number: number; value: string }>({
    id: ({ number }) => gid("Metafield", number),
    namespace: () => "custom",
    key: () => "analytics_family",
    type: () => "single_line_text_field",
    value: ({ value }) => value,
    jsonValue: ({ value }) => value,
  }),
  Count: typeFields<Source & { count: number }>({ count: ({ count }) => count, precision: () => "EXACT" }),
};

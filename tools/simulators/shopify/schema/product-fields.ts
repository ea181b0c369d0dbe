import { hasOwnImage, imageAddress } from "../world/catalogue.ts";
import { childNumber, gid } from "../world/ids.ts";
import type { WorldProduct, WorldVariant } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { members, moneyV2, times, typeFields, type ResolversByType, type ListingSource } from "./sources.ts";

export interface ProductSource extends ListingSource {
  product: WorldProduct;
}

export interface VariantSource extends ProductSource {
  variant: WorldVariant;
}

export function productSource(product: WorldProduct): ProductSource {
  return { typeName: "Product", product };
}

export function variantSource(
  product: WorldProduct | null,
  variant: WorldVariant | null,
): VariantSource | null {
  if (product === null || variant === null) return null;
  return { typeName: "ProductVariant", product, variant };
}

/** Some products carry the family that a shop might choose to report by. */
function metafieldOf(source: ProductSource, namespace: string | null, key: string): ListingSource | null {
  const { number } = source.product;
  if (namespace !== "custom" || key !== "analytics_family" || number % 4 === 0) return null;
  return { typeName: "Metafield", number, value: `Family ${number % 3}` } as ListingSource;
}

function variantNumber({ product, variant }: VariantSource): number {
  return childNumber(product.number, variant.position);
}

export const productFields: ResolversByType = {
  Product: typeFields<ProductSource>({
    id: ({ product: { number } }) => gid("Product", number),
    ...members("product", "title", "handle", "vendor", "productType", "tags"),
    ...times("product", "updatedAt"),
    category: (source) =>
      source.product.category === null ? null : { ...source, typeName: "TaxonomyCategory" },
    featuredMedia: (source) => (source.product.image ? { ...source, typeName: "MediaImage" } : null),
    metafield: (source, { namespace, key }) => metafieldOf(source, namespace ?? null, key ?? ""),
    variants: (source) =>
      listOf(source.product.variants.map((variant) => variantSource(source.product, variant))),
  }),
  ProductVariant: typeFields<VariantSource>({
    id: (source) => gid("ProductVariant", variantNumber(source)),
    image: (source) => (hasOwnImage(source.variant) ? { ...source, typeName: "Image" } : null),
    ...members("variant", "sku", "position"),
    title: (source) => source.variant.optionValues.join(" / "),
    inventoryItem: (source) => ({ ...source, typeName: "InventoryItem" }),
    selectedOptions: ({ product: owner, variant: { optionValues } }) =>
      owner.optionNames.map((name, index) => ({
        typeName: "SelectedOption",
        name,
        value: optionValues[index],
      })),
  }),
  InventoryItem: typeFields<VariantSource>({
    id: (source) => gid("InventoryItem", variantNumber(source)),
    tracked: () => true,
    unitCost: ({ variant: { unitCostMinor } }) => (unitCostMinor === null ? null : moneyV2(unitCostMinor)),
  }),
  TaxonomyCategory: typeFields<ProductSource>({
    fullName: ({ product: { category: fullName } }) => fullName,
  }),
  MediaImage: typeFields<ProductSource>({
    alt: ({ product: { title, number } }) => (number % 3 === 0 ? null : `Photo of ${title}`),
    preview: (source) => ({ ...source, typeName: "MediaPreviewImage" }),
  }),
  MediaPreviewImage: typeFields<ProductSource>({
    image: (source) => ({ ...source, typeName: "Image" }),
  }),
  Image: typeFields<ProductSource | VariantSource>({
    url: (source) => imageAddress(source.product, "variant" in source ? source.variant : null),
  }),
  SelectedOption: typeFields<ListingSource & { name: string; value: string }>({
    name: ({ name }) => name,
    value: ({ value }) => value,
  }),
  Metafield: typeFields<ListingSource & { number: number; value: string }>({
    value: ({ value }) => value,
  }),
  Count: typeFields<ListingSource & { count: number }>({
    count: ({ count }) => count,
    precision: () => "EXACT",
  }),
};

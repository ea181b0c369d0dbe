import { hasOwnImage, imageAddress } from "../world/catalogue.ts";
import { childNumber, gid } from "../world/ids.ts";
import type { WorldProduct, WorldVariant } from "../world/types.ts";
import { listOf } from "./listing.ts";
import { moneyNode, pick, times, type Shown } from "./nodes.ts";

export function productNode(product: WorldProduct): Shown {
  const { number, category, image, variants } = product;
  return {
    typeName: "Product",
    id: gid("Product", number),
    ...pick(product, "title", "handle", "vendor", "productType", "tags"),
    ...times(product, "updatedAt"),
    category: category === null ? null : { typeName: "TaxonomyCategory", fullName: category },
    featuredMedia: () => (image ? mediaNode(product) : null),
    metafield: ({ namespace, key }: { namespace?: string | null; key?: string }) => {
      // Some products have a family that a shop might choose to report by.
      if (namespace !== "custom" || key !== "analytics_family" || number % 4 === 0) return null;
      return { typeName: "Metafield", value: `Family ${number % 3}` };
    },
    variants: () => listOf(variants.map((variant) => variantNode(product, variant))),
  };
}

function mediaNode(product: WorldProduct): Shown {
  return {
    typeName: "MediaImage",
    alt: product.number % 3 === 0 ? null : `Photo of ${product.title}`,
    preview: { typeName: "MediaPreviewImage", image: { typeName: "Image", url: imageAddress(product) } },
  };
}

export function variantNode(product: WorldProduct, variant: WorldVariant): Shown {
  const { optionValues, unitCostMinor } = variant;
  return {
    typeName: "ProductVariant",
    id: gid("ProductVariant", childNumber(product.number, variant.position)),
    ...pick(variant, "sku", "position"),
    title: optionValues.join(" / "),
    image: hasOwnImage(variant) ? { typeName: "Image", url: imageAddress(product, variant) } : null,
    inventoryItem: {
      typeName: "InventoryItem",
      unitCost: () => (unitCostMinor === null ? null : moneyNode(unitCostMinor)),
    },
    selectedOptions: product.optionNames.map((name, index) => ({
      typeName: "SelectedOption",
      name,
      value: optionValues[index],
    })),
  };
}

import { listAt, objectAt, objectOrNullAt, textAt, textOrNullAt, wholeAt } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import type { ProductRecord, VariantRecord } from "./records.ts";

/** Without its variants; throws SourceFailed for a node that is not as the schema says. */
export function readProduct(node: Json): ProductRecord {
  const media = objectOrNullAt(node, "featuredMedia", "Product");
  const preview = objectOrNullAt(media ?? {}, "preview", "Media");
  const image = objectOrNullAt(preview ?? {}, "image", "MediaPreviewImage");
  const category = objectOrNullAt(node, "category", "Product");
  const metafield = objectOrNullAt(node, "metafield", "Product");
  return {
    id: textAt(node, "id", "Product"),
    title: textAt(node, "title", "Product"),
    handle: textAt(node, "handle", "Product"),
    vendor: textAt(node, "vendor", "Product"),
    productType: textAt(node, "productType", "Product"),
    tags: readTags(node),
    category: category === null ? null : textAt(category, "fullName", "TaxonomyCategory"),
    imageUrl: image === null ? null : textAt(image, "url", "Image"),
    imageAlt: textOrNullAt(media ?? {}, "alt", "Media"),
    metafield: metafield === null ? null : textAt(metafield, "value", "Metafield"),
  };
}

export function readVariant(node: Json): VariantRecord {
  const cost = objectOrNullAt(objectAt(node, "inventoryItem", "ProductVariant"), "unitCost", "InventoryItem");
  return {
    id: textAt(node, "id", "ProductVariant"),
    sku: textOrNullAt(node, "sku", "ProductVariant"),
    title: textAt(node, "title", "ProductVariant"),
    position: wholeAt(node, "position", "ProductVariant"),
    options: listAt(node, "selectedOptions", "ProductVariant").map((option) => ({
      name: textAt(option, "name", "SelectedOption"),
      value: textAt(option, "value", "SelectedOption"),
    })),
    unitCost:
      cost === null
        ? null
        : {
            amount: textAt(cost, "amount", "MoneyV2"),
            currencyCode: textAt(cost, "currencyCode", "MoneyV2"),
          },
  };
}

function readTags(node: Json): string[] {
  const tags = Array.isArray(node["tags"]) ? (node["tags"] as unknown[]) : [];
  return tags.map((_, index) => textAt({ tag: tags[index] }, "tag", "Product"));
}

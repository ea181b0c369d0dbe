import { readableName } from "./wording.ts";

/** What a return-rate alert is about. */
export type WarnedEntity = {
  kind: "sku" | "product" | "family" | "analytics_category";
  key: string;
  /** What a product is called; null for other kinds and where it is not known. */
  title: string | null;
};

/** The entity inside a sentence. */
export function nameOf({ kind, key, title }: WarnedEntity): string {
  switch (kind) {
    case "sku":
      return readableName(key);
    case "product":
      return readableName(title ?? key);
    case "family":
      return `the family ${readableName(key)}`;
    case "analytics_category":
      return `the category ${readableName(key)}`;
  }
}

/** The members are parameters of every endpoint that takes a selector. */
export function selectorOf({ kind, key }: Omit<WarnedEntity, "title">): Record<string, string> {
  switch (kind) {
    case "sku":
      return { sku: key };
    case "product":
      return { product_gid: key };
    case "family":
    case "analytics_category":
      return { product_group_type: kind, product_group_key: key };
  }
}

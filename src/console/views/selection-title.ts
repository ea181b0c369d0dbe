import type { ApiAnswer } from "../figure.ts";
import type { BodyOf } from "../page.ts";

/** What a report is about, as its selector echo says it. */
export function selectionTitle({ body }: ApiAnswer<BodyOf<"report">>): string {
  const { selector } = body.meta;
  switch (selector.type) {
    case "workspace":
      return "The whole store";
    case "sku":
      return `SKU ${selector.primarySku}`;
    case "product":
      return `Product ${selector.product_gid}`;
    case "product_group":
      return selector.label;
  }
}

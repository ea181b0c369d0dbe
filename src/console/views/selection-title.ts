import type { ApiAnswer } from "../figure.ts";
import type { BodyOf } from "../page.ts";

/** What a report is about: what it is called, and its key where that is something else. */
type SelectionTitle = { title: string; detail: string | null };

/** As the report's selector echo says it; `variants` know the title of their product. */
export function selectionTitle(
  { body }: ApiAnswer<BodyOf<"report">>,
  variants: ApiAnswer<BodyOf<"return-cost-leaderboard">> | null,
): SelectionTitle {
  const { selector } = body.meta;
  const product = variants?.body.data.rows[0]?.product_title ?? null;
  switch (selector.type) {
    case "workspace":
      return { title: "The whole store", detail: null };
    case "sku":
      return {
        title: product ?? selector.primarySku,
        detail: product === null ? "SKU" : `SKU ${selector.primarySku}`,
      };
    case "product":
      return { title: product ?? selector.product_gid, detail: "product, all its SKUs" };
    case "product_group":
      return { title: selector.label, detail: GROUP_TEXTS[selector.product_group_type] };
  }
}

const GROUP_TEXTS = { family: "product family", analytics_category: "category" } as const;

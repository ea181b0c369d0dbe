import { mayDo } from "../../actions/right.ts";
import { addSaleEvent } from "../../actions/sale-events/actions.ts";
import { addWatched, type WatchedType } from "../../actions/watchlist/actions.ts";
import { html, type Html } from "../../lib/html.ts";
import type { ApiAnswer } from "../figure.ts";
import type { BodyOf, PageCall } from "../page.ts";

/** A watchable entity. */
export type Watchable = { type: WatchedType; key: string };

export type ListedSelector = BodyOf<"entities">["data"][number]["selector"];

/** A selector of the API as a watchable entity. */
export function watchableOf(selector: ListedSelector): Watchable {
  if ("sku" in selector) return { type: "sku", key: selector.sku };
  if ("product_gid" in selector) return { type: "product_gid", key: selector.product_gid };
  return { type: selector.product_group_type, key: selector.product_group_key };
}

/** Shows that something is watched, or links to where it can be; null: neither, for a member without the right. */
export function watchMark(call: PageCall, { type, key }: Watchable): Html | null {
  if (call.isWatched(type, key)) return html`<span class="tag">watched</span>`;
  if (!mayDo(call.role, addWatched)) return null;
  return html`<a href="${call.href("/settings/watchlist", { type, key })}" aria-label="Watch ${key}">Watch</a>`;
}

/** A report's subject: its title, and its key if that differs. */
type SelectionTitle = { title: string; detail: string | null };

/** As in the report's selector echo; `variants` have the title of their product. */
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

type Report = ApiAnswer<BodyOf<"report">>;

/** Actions on a report's selection: watch it, and for a SKU or product add it to sale days. */
export function selectionLinks(call: PageCall, { body }: Report): Html | null {
  const selected = selectedOf(body.meta.selector);
  if (selected === null) return null;
  const { type, key } = selected;
  const mark = watchMark(call, selected);
  const hasSkus = type === "sku" || type === "product_gid";
  const canAdd = hasSkus && mayDo(call.role, addSaleEvent);
  return html`${mark !== null && html` · ${mark}`}${
    canAdd && html` · <a href="${call.href("/settings/sale-events", { [type]: key })}">Add to sale days</a>`
  }`;
}

function selectedOf(selector: Report["body"]["meta"]["selector"]): Watchable | null {
  switch (selector.type) {
    case "workspace":
      return null;
    case "sku":
      return { type: "sku", key: selector.primarySku };
    case "product":
      return { type: "product_gid", key: selector.product_gid };
    case "product_group":
      return { type: selector.product_group_type, key: selector.product_group_key };
  }
}

import { mayDo } from "../../actions/right.ts";
import { addWatched } from "../../actions/watchlist/actions.ts";
import type { WatchedType } from "../../actions/watchlist/actions.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { BodyOf, PageCall } from "../page.ts";

/** What can be watched. */
export type Watchable = { type: WatchedType; key: string };

export type ListedSelector = BodyOf<"entities">["data"][number]["selector"];

/** A selector of the API as what can be watched. */
export function watchableOf(selector: ListedSelector): Watchable {
  if ("sku" in selector) return { type: "sku", key: selector.sku };
  if ("product_gid" in selector) return { type: "product_gid", key: selector.product_gid };
  return { type: selector.product_group_type, key: selector.product_group_key };
}

/** Says that something is watched, or leads to where it can be; null = neither, for who may not watch it. */
export function watchMark(call: PageCall, { type, key }: Watchable): Html | null {
  if (call.isWatched(type, key)) return html`<span class="tag">watched</span>`;
  if (!mayDo(call.role, addWatched)) return null;
  return html`<a href="${call.href("/settings/watchlist", { type, key })}" aria-label="Watch ${key}">Watch</a>`;
}

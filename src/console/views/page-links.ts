import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall } from "../page.ts";

/** The way through a list that has pages: forward by the API's cursor, or back to its first page. */
export function pageLinks(call: PageCall, path: string, nextCursor: string | null): Html | null {
  const { cursor, ...rest } = call.query;
  if (cursor === undefined && nextCursor === null) return null;
  return html`<nav class="pages" aria-label="Pages of the list">
    ${cursor !== undefined && html`<a href="${call.href(path, rest)}">First page</a>`}
    ${nextCursor !== null && html`<a href="${call.href(path, { ...rest, cursor: nextCursor })}" rel="next">Next page</a>`}
  </nav>`;
}

import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall } from "../page.ts";

/** What a page says that counts complete months, while there is none. */
export function noCompleteMonth(call: PageCall): Html {
  return html`<h2>No month is complete yet</h2>
    <p>
      A month counts once every order of it has had its ${call.primaryWindowDays} days to come back. Until
      then its rate would look better than it is.
    </p>
    <p>
      <a href="${call.href("/products")}">Look up a product</a> and choose its months to see what has come
      back so far.
    </p>`;
}

import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/** Links to the parts of a page. */
export function tabs(
  label: string,
  links: readonly { text: string; href: string; isCurrent: boolean }[],
): Html {
  return html`<nav aria-label="${label}">
    <ul class="tabs">
      ${links.map(
        ({ text, href, isCurrent }) =>
          html`<li><a href="${href}" ${isCurrent && html` aria-current="true"`}>${text}</a></li>`,
      )}
    </ul>
  </nav>`;
}

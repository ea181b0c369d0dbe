import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

type Listed = { sku: string; product_title: string | null };

/** The first cell of a ranking of SKUs: its place, and what it is, which leads to its report. */
export function productCell({ sku, product_title }: Listed, rank: number, href: string): Html {
  return html`<span class="ranked"
    ><span class="rank">${rank}</span
    ><a href="${href}"
      ><span class="name">${product_title ?? sku}</span>${
        product_title !== null && html` <span class="detail">${sku}</span>`
      }</a
    ></span
  >`;
}

import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { picture } from "./picture.ts";

type Listed = { sku: string; product_title: string | null; product_image_url: string | null };

/** The first cell of a ranking of SKUs: its place, its picture, and what it is, which leads to its report. */
export function productCell(
  { sku, product_title, product_image_url }: Listed,
  { rank, href, imageSources }: { rank: number; href: string; imageSources: readonly string[] },
): Html {
  return html`<span class="ranked"
    ><span class="rank">${rank}</span
    >${picture(product_image_url, "", imageSources)}<a href="${href}"
      ><span class="name">${product_title ?? sku}</span>${
        product_title !== null && html` <span class="detail">${sku}</span>`
      }</a
    ></span
  >`;
}

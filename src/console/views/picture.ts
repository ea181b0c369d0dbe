import { demoPicturePath } from "../../demo/pictures.ts";
import { html, type Html } from "../../lib/html.ts";

/** Where the store platform keeps the images of its shops. */
const SHOPIFY_IMAGE_HOST = "https://cdn.shopify.com";

/** Sides of a picture in pixels, as the style sheet has them too. */
const SIZE = 40;

/** Origins of images that the pages of a workspace may load besides this service's own: none unless Shopify is connected. */
export function imageSources(sources: readonly { source: string }[]): readonly string[] {
  return sources.some(({ source }) => source === "shopify") ? [SHOPIFY_IMAGE_HOST] : [];
}

/**
 * A product's picture of a fixed size, or a tile if the page may not load one. `label` is its alternative text; empty if the
 * product's name is next to it. `sources` comes from `imageSources`.
 */
export function picture(imageUrl: string | null, label: string, sources: readonly string[]): Html {
  const address = imageUrl === null ? null : loadable(imageUrl, sources);
  if (address === null) return html`<span class="picture" aria-hidden="true"></span>`;
  return html`<img
    class="picture"
    src="${address}"
    alt="${label}"
    width="${SIZE}"
    height="${SIZE}"
    loading="lazy"
    decoding="async"
    referrerpolicy="no-referrer"
  />`;
}

/** The address under which the page's content security policy lets an image load; null = under none. */
function loadable(imageUrl: string, sources: readonly string[]): string | null {
  const ownPath = demoPicturePath(imageUrl);
  if (ownPath !== null) return ownPath;
  const isAllowed = URL.canParse(imageUrl) && sources.includes(new URL(imageUrl).origin);
  return isAllowed ? imageUrl : null;
}

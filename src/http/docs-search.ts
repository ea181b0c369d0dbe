import { renderHtml } from "../lib/html.ts";
import type { Guide } from "./docs-guides.ts";
import { plainText } from "./docs-markdown.ts";
import type { NavigationLink } from "./docs-page.ts";

/** A section of a guide, or an endpoint, as the search of the pages finds it. */
export type SearchEntry = { href: string; title: string; section: string; text: string };

/** Every section of the guides in reading order, then the endpoints of the reference. */
export function buildSearchIndex(
  guides: readonly Guide[],
  endpoints: readonly NavigationLink[],
): SearchEntry[] {
  return [
    ...guides.flatMap(({ path, title, render }) =>
      renderHtml(render().body)
        .split(/(?=<h2 id=")/u)
        .map((part) => {
          const id = /^<h2 id="([^"]+)"/u.exec(part)?.[1];
          const section = /^<h2[^>]*>(.*?)<\/h2>/su.exec(part)?.[1] ?? "";
          return {
            href: id === undefined ? path : `${path}#${id}`,
            title,
            section: plainText(section),
            text: plainText(withoutBlocks(part.replace(/^<h([12])[^>]*>.*?<\/h\1>/su, ""))),
          };
        }),
    ),
    ...endpoints.map(({ href, text }) => ({ href, title: "Reference", section: text, text: "" })),
  ];
}

/** Pictures and code say little out of their place. */
function withoutBlocks(markup: string): string {
  return markup.replaceAll(/<(svg|pre)\b.*?<\/\1>/gsu, " ").replaceAll(/<\/t[dh]>/gu, " $&");
}

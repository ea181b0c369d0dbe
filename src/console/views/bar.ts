import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { FULL, place } from "../charts/plot.ts";

/**
 * A bar inside a table cell, which repeats the figures beside it for the eye. `parts`: lengths that follow each other, as
 * shares of the longest bar of the table; `mark`: a line across it, the same way. A "quiet" bar is what others are
 * measured by.
 */
export function bar(
  parts: readonly number[],
  mark: number | null = null,
  look: "plain" | "quiet" = "plain",
): Html {
  let from = 0;
  const rectangles = parts.map((part, index) => {
    const x = from;
    from += part;
    return html`<rect class="part-${index + 1}" x="${share(x)}" width="${share(part)}" height="100%" />`;
  });
  return html`<svg class="bar ${look}" aria-hidden="true">
    ${rectangles}${
      mark !== null && html`<line class="mark" x1="${share(mark)}" x2="${share(mark)}" y1="-30%" y2="130%" />`
    }
  </svg>`;
}

/** A part that is longer than the table's longest bar, or negative, ends at the edge. */
function share(part: number): string {
  return place(FULL * Math.min(Math.max(part, 0), 1));
}

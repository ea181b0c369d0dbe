import { html } from "../../lib/html.ts";
import type { Html, HtmlValue } from "../../lib/html.ts";

/** Samples in a legend, 30 × 14 pixels. */
export function lineSwatch(className: string, mark?: HtmlValue): Html {
  return html`<line class="${className}" x1="0" x2="30" y1="7" y2="7" />${mark}`;
}

export function dotSwatch(className: string): Html {
  return html`<circle class="${className}" cx="15" cy="7" r="4" />`;
}

/** `pattern` is the id of a hatch. */
export function boxSwatch(className: string, pattern?: string): Html {
  return html`<rect class="${className}" width="30" height="14" ${pattern !== undefined && html` fill="url(#${pattern})"`} />`;
}

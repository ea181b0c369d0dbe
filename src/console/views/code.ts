import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/** Text to be copied whole, with a button that does it where there is a script; `form` says what it is written for. */
export function codeToCopy(form: string, text: string): Html {
  return html`<div class="code">
    <pre tabindex="0"><code data-form="${form}">${text}</code></pre>
    <button type="button" class="copy" aria-live="polite" hidden>Copy</button>
  </div>`;
}

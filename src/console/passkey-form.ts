import { html } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";

/** A form that the browser fills in with a passkey: made, or signed with. */
type PasskeyForm = {
  action: string;
  /** "create" makes a passkey, "get" signs with one. */
  kind: "create" | "get";
  button: string;
  /** Other fields, which the address of the options is sent, too. */
  fields?: Html | null;
};

/** The options are at the form's address with `/options`. */
export function passkeyForm({ action, kind, button, fields = null }: PasskeyForm): Html {
  return html`<form method="post" action="${action}" data-passkey="${kind}" data-options="${action}/options">
    ${fields}
    <input type="hidden" name="credential" />
    <p class="banner refused" role="alert" hidden></p>
    <noscript><p class="banner warn">Passkeys need JavaScript, which is off in this browser.</p></noscript>
    <button>${button}</button>
  </form>`;
}

/** Where a person who has no way in gets one. */
export const HOW_TO_GET_A_LINK = html`<p>Run this on the service's machine, and open the link that it prints:</p>
  <pre tabindex="0"><code>./returns user link</code></pre>
  <p>The link works once, within 10 minutes.</p>`;

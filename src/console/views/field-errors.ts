import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall } from "../page.ts";

/** The API's sentence about a field; null = it takes the value. */
export function wrongOf({ problems }: Pick<PageCall, "problems">, name: string): string | null {
  return problems.find((problem) => problem.name === name)?.sentence ?? null;
}

/** All that the API refused, each sentence linked to its field where the form has it. It takes the focus. */
export function problemSummary(
  call: PageCall,
  path: string,
  fields: readonly { name: string }[],
): Html | null {
  const { problems } = call;
  if (problems.length === 0) return null;
  return html`<div class="banner refused" role="alert" tabindex="-1" autofocus>
    <p><strong>This view cannot be shown.</strong> Everything you entered is still in the form.</p>
    <ul>
      ${problems.map(({ name, sentence }) => {
        const hasField = fields.some((field) => field.name === name);
        return html`<li>${hasField ? html`<a href="#${name}">${sentence}</a>` : sentence}</li>`;
      })}
    </ul>
    <p><a href="${call.href(path)}">Start again without filters</a></p>
  </div>`;
}

import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall } from "../page.ts";

/** What forms call the parameters that a person fills in, or that a link of a page carries. */
const LABELS: Readonly<Record<string, string>> = {
  start_month: "First month of orders",
  end_month: "Last month of orders",
  window: "Returned within",
  min_cost: "Cost at least",
  min_sold_units: "Sold units, at least,",
  min_return_rate: "Return rate",
  limit: "Rows",
  vendor: "Vendor",
  q: "Search",
  sku: "SKU",
  product_gid: "Product",
  product_group_key: "Group",
};

/**
 * A sentence of the API in the words of pages. One about a name that a page does not take, or takes once, is about the
 * address and stays as it is.
 */
export function inPageWords(sentence: string): string {
  const [first = ""] = sentence.split(" ", 1);
  if (sentence.endsWith(" data_export.")) return sentence.replace("data_export", "downloads as CSV");
  const label = LABELS[first];
  if (label === undefined || / is not a parameter | given once only/u.test(sentence)) return sentence;
  return `${label}${sentence.slice(first.length)}`
    .replaceAll(/\bend_month\b/gu, "last month of orders")
    .replace(/; take \w+ from \S+\.$/u, "; see the page Products.");
}

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

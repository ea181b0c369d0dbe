import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { month } from "../format.ts";
import { TO_NEWEST } from "../months.ts";
import type { PageCall } from "../page.ts";

/**
 * The months that an answer counts, and those it leaves out because they can still rise. `path` locates them: "meta" or
 * "summary". `hrefWith`: the same months with this value of `include_incomplete`.
 */
export function monthCoverage(
  answer: ApiAnswer,
  path: string,
  hrefWith: (open: string) => string,
): Html | null {
  const include = html`<a href="${hrefWith("true")}">Include months in progress</a>`;
  if (valueAt(answer, `${path}/months_included`) === 0) {
    return html`<p class="banner">
      No month of this range is complete, so nothing is counted: zeros here are not results. ${include}
    </p>`;
  }
  if (countsOpenMonths(answer, path)) {
    return html`<p class="banner">Months in progress are included: their rates can still rise.</p>`;
  }
  if (valueAt(answer, "meta/include_incomplete") === true && valueAt(answer, "meta/window") !== "lifetime") {
    const endsBefore = String(valueAt(answer, "meta/end_month")) < String(valueAt(answer, "meta/data_as_of"));
    return html`<p class="banner">
      No month of this range is
      open.${endsBefore && html` <a href="${hrefWith(TO_NEWEST)}">Continue to the newest month</a>`}
    </p>`;
  }
  const excluded = (valueAt(answer, `${path}/excluded_months`) ?? []) as readonly string[];
  if (excluded.length === 0) return null;
  const names = excluded.map(
    (_, index) => html`${index > 0 && ", "}${figure(answer, `${path}/excluded_months/${index}`, month)}`,
  );
  return html`<p class="banner">
    ${names} ${excluded.length === 1 ? "is" : "are"} still open and left out. ${include}
  </p>`;
}

/** Whether an answer counts open months: they were requested, and the range has some. */
export function countsOpenMonths(answer: ApiAnswer, path: string): boolean {
  if (valueAt(answer, "meta/include_incomplete") !== true) return false;
  if (valueAt(answer, "meta/window") === "lifetime") return false;
  const complete = valueAt(answer, `${path}/complete_through`);
  return typeof complete !== "string" || String(valueAt(answer, "meta/end_month")) > complete;
}

/** Shown by a page of complete months if there is none. */
export function noCompleteMonth(call: PageCall): Html {
  return html`<h2>No month is complete yet</h2>
    <p>
      A month counts once every order of it has had its ${call.primaryWindowDays} days to come back. Until
      then its rate would look better than it is.
    </p>
    <p>
      <a href="${call.href("/products")}">Look up a product</a> and choose its months to see what has come
      back so far.
    </p>`;
}

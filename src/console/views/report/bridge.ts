import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import type { BRIDGE_STEPS } from "../../../contract/report-bridge.ts";
import { figure } from "../../figure.ts";
import type { ApiAnswer } from "../../figure.ts";
import { count, month, points } from "../../format.ts";
import type { BodyOf } from "../../page.ts";
import { monthRange } from "../month-range.ts";
import { dataTable } from "../table.ts";

type Report = ApiAnswer<BodyOf<"report">>;
type Step = (typeof BRIDGE_STEPS)[number]["step"];

/** Of each step what it is, and why it is no return of these orders, or one. */
const WORDS: Readonly<Record<Step, readonly [what: string, why: string]>> = {
  left_out_orders: [
    "Orders that do not count",
    "test orders, canceled ones, gift cards, tips, and orders left out by a rule: nothing of them was sold",
  ],
  order_edits: ["Removed by order edits", "never sent, so never sold"],
  canceled_before_fulfillment: ["Canceled before they were sent", "what was not sent cannot come back"],
  not_counted: [
    "Taken back, but not returned",
    "a return that is not closed yet, a refund beyond what the line had left, or one that a rule takes for money alone",
  ],
  other_days: [
    "Booked on another day",
    "back in these months, but booked before, after or not at all; less those where it is the other way round",
  ],
  other_cohorts: ["Sold in other months", "a rate belongs to the month of the order"],
  later_returns: ["Came back in other months", "returns of these orders, most of them later"],
  beyond_window: ["Came back after the window", "later than the observation window"],
  open_months: ["Of months left out", "they are still open; include months in progress to count them"],
};

/** M24: from the store's own count to this report's, and from the earlier months' rate to this one; null = not asked for. */
export function bridgePart(report: Report, exportHref: string | null): Html | null {
  const { bridge } = report.body.data;
  if (bridge === undefined) return null;
  const total = (name: string, path: string, about: string): Html[] => [
    named(html`<strong>${name}</strong>`, about),
    html`<strong>${figure(report, `bridge/${path}`, count)}</strong>`,
  ];
  const steps = bridge.steps.map(({ step }, index): { step: Step; cells: Html[] } => {
    const [what, why] = WORDS[step];
    return {
      step,
      cells: [named(what, why), figure(report, `bridge/steps/${index}/units`, signed)],
    };
  });
  const place = steps.findIndex(({ step }) => step === "other_cohorts");
  const rows = [
    total("The store’s own count", "booked_units", "taken back in these calendar months, of all orders"),
    ...steps.slice(0, place).map(({ cells }) => cells),
    total("Returned in these months", "returned_in_months_units", "whenever they were sold"),
    ...steps.slice(place).map(({ cells }) => cells),
  ];
  return html`<section id="bridge">
    <h2>Why does the store’s own report differ?</h2>
    <p>
      Shopify and other tools count what was taken back in a calendar month. Here a return belongs to the month in which
      it was <a href="/docs/numbers">sold</a>, here ${monthRange(report)}. Each step below leads from one number to the
      other; the CSV file has the SKUs and months behind each step.
    </p>
    ${dataTable(
      "From the store’s own figures to this report, in units",
      [{ text: "Step" }, { text: "Units", isNumber: true }],
      rows,
      total(
        "Returned units of this report",
        "returned_units",
        "of orders of these months, inside the window",
      ),
      { id: "bridge-steps", exportHref },
    )}
  </section>${ratePart(report, exportHref)}`;
}

function ratePart(report: Report, exportHref: string | null): Html {
  const { bridge, comparison } = report.body.data;
  const start = html`<h2>Why did the rate change?</h2>`;
  if (bridge?.rate_change === null || comparison === null)
    return html`<section id="rate-change">${start}
      <p>There are no earlier months to compare with, or nothing was sold in one of the two periods.</p></section>`;
  const row = (name: string, part: string, why: string): Html[] => [
    named(name, why),
    figure(report, `bridge/rate_change/${part}`, points),
  ];
  const [from, to] = ["comparison/start_month", "comparison/end_month"] as const;
  return html`<section id="rate-change">${start}
    <p>Compared with orders of ${figure(report, from, month)} to ${figure(report, to, month)}:</p>
    ${dataTable(
      "What changed the return rate",
      [{ text: "Part" }, { text: "Change", isNumber: true }],
      [
        row(
          "Timing",
          "timing",
          "the earlier orders had longer to come back; none where every month is complete",
        ),
        row(
          "Mix",
          "mix",
          "other products were sold: more of those that come back often, or of those that do not",
        ),
        row("Rate", "rate", "the same products come back more or less often"),
      ],
      row("Change of the rate", "return_rate_change", "all three together"),
      { id: "rate-parts", exportHref },
    )}</section>`;
}

function named(what: Html | string, why: string): Html {
  return html`${what}<br /><small>${why}</small>`;
}

/** 12 → "+12", −3 → "−3". */
function signed(value: number): string {
  const size = count(Math.abs(value)) as string;
  if (value === 0) return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

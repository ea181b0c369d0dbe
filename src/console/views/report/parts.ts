import { OPTION_PREFIX } from "../../../contract/parameters.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import { figure } from "../../figure.ts";
import type { ApiAnswer } from "../../figure.ts";
import { count, day, money, month, percent, points } from "../../format.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { stateWithoutSelector } from "../../selection.ts";
import { facts } from "../blocks.ts";
import { dataTable } from "../table.ts";

type Report = ApiAnswer<BodyOf<"report">>;

/** What was refunded without coming back, and the other way round. */
export function refundsPart(report: Report, call: PageCall, exportHref: string | null): Html {
  const amount = money(call.currencyCode);
  return html`<section id="refunds">
    <h2>Refunds and returns</h2>
    ${facts(
      [
        { name: "Refunded units", value: figure(report, "refunds/refunded_units", count) },
        {
          name: "Refunded amount",
          value: figure(report, "refunds/refunded_amount", amount),
          note: "without tax",
        },
        {
          name: "Came back, not refunded",
          value: figure(report, "refunds/returned_not_refunded_units", count),
          note: "units",
        },
        {
          name: "Refunded, did not come back",
          value: figure(report, "refunds/refunded_not_returned_units", count),
          note: "units",
        },
      ],
      { id: "refund-facts", exportHref },
    )}
  </section>`;
}

/** Where requests to return stand now, and how much is known of each returned unit. */
export function lifecyclePart(report: Report, exportHref: string | null): Html {
  const path = "lifecycle_coverage";
  const none = "nothing came back";
  const labels = report.body.data.label_costs_included ? none : "label costs are not included";
  return html`<section id="lifecycle">
    <h2>Return requests</h2>
    <p>Return requests by where they stand today, whatever the age of the order.</p>
    ${facts(
      [
        {
          name: "Waiting for an answer",
          value: figure(report, `${path}/requested_units`, count),
          note: "units",
        },
        { name: "Open", value: figure(report, `${path}/open_units`, count), note: "units" },
        { name: "Closed", value: figure(report, `${path}/closed_units`, count), note: "units" },
        { name: "Declined", value: figure(report, `${path}/declined_units`, count), note: "units" },
        { name: "Canceled", value: figure(report, `${path}/canceled_units`, count), note: "units" },
        {
          name: "Known only from a refund",
          value: figure(report, `${path}/refund_only_units`, count),
          note: "units",
        },
        { name: "With a reason", value: figure(report, `${path}/share_with_reason`, percent, none) },
        { name: "With a refund", value: figure(report, `${path}/share_with_refund`, percent, none) },
        { name: "With a return label", value: figure(report, `${path}/share_with_label`, percent, labels) },
      ],
      { id: "lifecycle-facts", exportHref },
    )}
  </section>`;
}

/** M21: refunds still to come, in all and by month; the fact alone where there is no estimate. */
export function liabilityPart(report: Report, call: PageCall, exportHref: string | null): Html {
  const { liability = null } = report.body.data;
  const start = html`<h2>Still to come</h2>`;
  if (liability === null)
    return html`<section id="liability">${start}
      <p>There is no estimate: the window has no end, or the store’s history is too short.</p></section>`;
  const amount = money(call.currencyCode);
  const cells = (path: string): Html[] => [
    figure(report, `${path}/expected_units`, count),
    figure(report, `${path}/refund_amount`, amount),
    html`${figure(report, `${path}/low_amount`, amount)} to ${figure(report, `${path}/high_amount`, amount)}`,
    figure(report, `${path}/goods_cost`, amount, "too few unit costs are known"),
  ];
  const columns = ["Units", "Refunds", "Likely range", "Goods back, at cost"];
  return html`<section id="liability">${start}
    <p>
      Refunds expected within the window for orders up to ${figure(report, "liability/as_of", day)} that can still
      come back, whichever months are shown above.
      ${liability.low_evidence && html`Few units have come back so far, so similar products are used instead.`}
    </p>
    ${dataTable(
      "Units and refunds still to come, by month of the order",
      [{ text: "Month" }, ...columns.map((text) => ({ text, isNumber: true }))],
      liability.months.map((_, index) => [
        figure(report, `liability/months/${index}/cohort_month`, month),
        ...cells(`liability/months/${index}`),
      ]),
      [html`Together`, ...cells("liability")],
      { id: "liability-months", exportHref },
    )}</section>`;
}

export function costsPart(report: Report, call: PageCall, exportHref: string | null): Html {
  const amount = money(call.currencyCode);
  const { label_costs_included: hasLabels } = report.body.data;
  const hasUnmatched = (report.body.data.costs?.unmatched_label_cost ?? null) !== null;
  const unmatched = hasLabels ? "known only for the whole store" : "label costs are not included";
  return html`${facts(
    [
      { name: "Refunds", value: figure(report, "costs/refunded_amount", amount), note: "without tax" },
      {
        name: "Return labels",
        value: figure(report, "costs/return_label_cost", amount),
        note: hasLabels ? null : "not included: no label source is connected and up to date",
      },
      { name: "Returns cost", value: html`<strong>${figure(report, "costs/returns_cost", amount)}</strong>` },
      {
        name: "Sold for",
        value: figure(report, "summary/sold_amount", amount, "no price is known"),
        note: html`without tax, after discounts; known for
      ${figure(report, "summary/sold_amount_coverage", percent, "no unit, since nothing was sold")} of the units`,
      },
      {
        name: "Share of it refunded",
        value: figure(report, "summary/refund_share", percent, "prices of too few units are known"),
      },
      {
        name: "Labels without a return",
        value: figure(report, "costs/unmatched_label_cost", amount, unmatched),
        note: hasUnmatched ? "charged in these months; in no figure above" : null,
      },
      {
        name: "Margin impact, estimated",
        value: figure(report, "costs/estimated_margin_impact", amount, "no unit cost is known"),
      },
      {
        name: "Unit cost known",
        value: figure(report, "costs/cogs_coverage", (value: number) => `${value} %`),
        note: "of the returned units",
      },
    ],
    { id: "cost-facts", exportHref },
  )}`;
}

const OUTCOME_WORDS = {
  exchange: "Exchanged: other units were sent instead",
  refund: "Refunded",
  other: "Neither so far, such as store credit",
} as const;

/** How what came back ended; null = not asked for. */
export function outcomesPart(report: Report, call: PageCall, exportHref: string | null): Html | null {
  const { outcomes } = report.body.data;
  if (outcomes === undefined) return null;
  const amount = money(call.currencyCode);
  const rows = outcomes.rows.map(({ outcome }, index) => {
    const path = `outcomes/rows/${index}`;
    return [
      html`${OUTCOME_WORDS[outcome]}`,
      figure(report, `${path}/returned_units`, count),
      figure(report, `${path}/share`, percent),
      figure(report, `${path}/refunded_amount`, amount),
      figure(report, `${path}/kept_amount`, amount),
    ];
  });
  const columns = ["Units returned", "Share", "Paid back", "Kept by exchanges"];
  return html`<section id="outcomes">
    <h2>How returns ended</h2>
    ${dataTable(
      "Returned units by outcome, as far as it is known today",
      [{ text: "Outcome" }, ...columns.map((text) => ({ text, isNumber: true }))],
      rows,
      null,
      { id: "outcomes-rows", exportHref },
    )}
    ${facts(
      [
        {
          name: "Refunds without a line",
          value: figure(
            report,
            "outcomes/unattributed_refund_amount",
            amount,
            "known only for the whole store",
          ),
          note:
            outcomes.unattributed_refund_amount === null ? null : "paid in these months; in no figure above",
        },
      ],
      { id: "outcome-facts", exportHref },
    )}
  </section>`;
}

/** What a report can be divided by, in words. */
export const BREAKDOWN_TITLES = {
  vendor: "Vendor",
  product: "Product",
  sku: "SKU",
  family: "Family",
  analytics_category: "Category",
} as const;

/** The title of a breakdown; an option's is its name. */
export function breakdownTitle(by: string): string {
  const titles: Readonly<Record<string, string>> = BREAKDOWN_TITLES;
  return titles[by] ?? by.replace(OPTION_PREFIX, "");
}

/** The selection divided by vendor, product, SKU or group; the rows and the rest add up to it. */
export function breakdownPart(report: Report, call: PageCall, exportHref: string | null): Html | null {
  const breakdown = report.body.data.breakdown;
  if (breakdown === undefined) return null;
  const amount = money(call.currencyCode);
  const title = breakdownTitle(breakdown.breakdown_by);
  const { vendor: _vendor, include_used_variants: _used, ...range } = stateWithoutSelector(call.query);
  const rows = breakdown.rows.flatMap(({ label, selector, sold_units: sold, top_reason: reason }, index) => {
    const path = `breakdown/rows/${index}`;
    // The rest, where everything is listed.
    if (selector === null && sold === 0) return [];
    const cells = [
      selector === null
        ? html`${label}`
        : html`<a href="${call.href("/report", { ...range, ...selector })}">${label}</a>`,
      figure(report, `${path}/sold_units`, count),
      figure(report, `${path}/returned_units`, count),
      html`<strong>${rateFigure(report, path)}</strong>
        <small>${intervalFigure(report, `${path}/return_rate_interval`)}</small>`,
      figure(report, `${path}/refunded_amount`, amount),
      figure(report, `${path}/return_label_cost`, amount),
      figure(report, `${path}/returns_cost`, amount),
      figure(report, `${path}/excess_return_cost`, amount, "no usual rate"),
      figure(report, `${path}/sold_amount`, amount, "no price is known"),
      figure(report, `${path}/refund_share`, percent, "prices of too few units are known"),
      figure(report, `${path}/return_rate_change`, points, "nothing to compare"),
      reason === null
        ? figure(report, `${path}/top_reason`, String, "no main one")
        : html`${figure(report, `${path}/top_reason/label`, String)}
            <small>${figure(report, `${path}/top_reason/share`, percent)}</small>`,
    ];
    return [cells];
  });
  const columns = [
    "Units sold",
    "Units returned",
    "Return rate",
    "Refunds",
    "Labels",
    "Returns cost",
    "Beyond usual",
    "Sold for",
    "Share refunded",
    "Change",
  ];
  return html`<section id="breakdown">
    <h2>By ${title === "SKU" ? title : title.toLowerCase()}</h2>
    ${dataTable(
      `The costliest and the rest; together they are the whole selection`,
      [{ text: title }, ...columns.map((text) => ({ text, isNumber: true })), { text: "Main reason" }],
      rows,
      null,
      { id: "breakdown-rows", exportHref },
    )}
  </section>`;
}

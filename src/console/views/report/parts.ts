import { scaleQuantize } from "d3-scale";
import { mayDo } from "../../../actions/right.ts";
import { setReasons } from "../../../actions/workspace/reasons.ts";
import { OPTION_PREFIX } from "../../../contract/parameters.ts";
import { REASON_GROUP_WORDS, type BRIDGE_STEPS } from "../../../contract/report-sections.ts";
import { html, type Html } from "../../../lib/html.ts";
import { exportLink, scrolling } from "../../charts/frame.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import { figure, type ApiAnswer } from "../../figure.ts";
import { count, day, money, month, percent, points, units } from "../../format.ts";
import { monthRange } from "../../months.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { stateWithoutSelector } from "../../selection.ts";
import { facts } from "../blocks.ts";
import { dataTable } from "../table.ts";

type Report = ApiAnswer<BodyOf<"report">>;

/** Units refunded but not returned, and the reverse. */
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

/** Current states of return requests, and how much is known of each returned unit. */
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

/** M21: refunds still to come, in total and by month; only the fact if there is no estimate. */
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

/** The outcomes of returned units; null: not requested. */
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

/** The dimensions of a report's breakdown, in words. */
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

type Step = (typeof BRIDGE_STEPS)[number]["step"];

/** The name of each step, and why it is or is not a return of these orders. */
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

/** M24: from the store's own count to this report's, and from the earlier months' rate to this one; null: not requested. */
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

type Fit = Exclude<BodyOf<"report">["data"]["fit"], null | undefined>;

const SHADES = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
/** The middle shade is the product's own share of a reason. */
const DARKEST = 2;
const NAMES = Object.keys(REASON_GROUP_WORDS) as (keyof typeof REASON_GROUP_WORDS)[];
const GROUPS = [
  ...NAMES.map((name) => [`${name}_units`, REASON_GROUP_WORDS[name]] as const),
  ["no_reason_units", "No reason"] as const,
];

/** M22: which sizes come back for which reasons; null = no product, or one without sizes. */
export function sizesPart(answer: Report, call: PageCall, exportHref: string | null): Html | null {
  const fit = answer.body.data.fit ?? null;
  if (fit === null) return null;
  const { sizes, bracketing, exchanges } = fit;
  const path = "fit/bracketing";
  return html`<section id="sizes">
    <h2>Sizes</h2>
    <figure class="chart" id="fit-sizes">
      <figcaption>
        <p class="chart-title" id="fit-sizes-title">
          ${fit.sentence === null ? "No size clearly runs small or large" : figure(answer, "fit/sentence", String)}
        </p>
        <p class="chart-summary">
          Returned units by ${figure(answer, "fit/option", String)} and reason. Of the returns of other products,
          ${figure(answer, "fit/usual_too_small_share", percent)} were too small and
          ${figure(answer, "fit/usual_too_large_share", percent)} too large.
        </p>
      </figcaption>
      ${scrolling("fit-sizes", matrix(answer, sizes))}
      <ul class="chart-legend">
        <li>
          <span class="heat-key" aria-hidden="true"
            >${SHADES.map((shade) => html`<span class="heat-${shade}"></span>`)}</span
          ><span>rarer → more frequent among the size’s returns than among all of the product’s</span>
        </li>
        ${
          sizes.some((size) => size.low_evidence) &&
          html`<li>
            <span class="heat-key" aria-hidden="true"><span class="hatched"></span></span
            ><span>few returns: fewer than 20 orders gave a reason, so the shares can change much</span>
          </li>`
        }
      </ul>
      ${exportLink(exportHref, "fit-sizes")}
    </figure>
    <p>
      ${
        bracketing.orders === 0
          ? html`There are ${figure(answer, `${path}/orders`, count)} orders with the product.`
          : html`${figure(answer, `${path}/bracketed_orders`, count)} of ${figure(answer, `${path}/orders`, count)}
            orders with the product (${figure(answer, `${path}/share`, percent)}) had two or more sizes;
            ${figure(answer, `${path}/returned_units`, count)} of their ${figure(answer, `${path}/sold_units`, units)}
            came back.`
      }
    </p>
    ${exchanges.length > 0 && exchangesTable(answer, fit, exportHref)} ${unmapped(answer, fit, call)}
  </section>`;
}

function matrix(answer: Report, sizes: Fit["sizes"]): Html {
  const returned = sizes.reduce((sum, { returned_units: each }) => sum + each, 0);
  // A reason without units has no column.
  const groups = GROUPS.flatMap(([name, words]) => {
    const usual = sizes.reduce((sum, size) => sum + size[name], 0) / Math.max(1, returned);
    return usual > 0 ? [{ name, words, shade: scaleQuantize(SHADES).domain([0, DARKEST * usual]) }] : [];
  });
  const columns = [
    "Size",
    "Fit",
    "Units sold",
    "Units returned",
    "Return rate",
    ...groups.map(({ words }) => words),
    "Returns with a reason",
    "Of them too small, likely",
    "Of them too large, likely",
  ];
  return html`<table class="heat" aria-labelledby="fit-sizes-title">
    <thead>
      <tr>
        ${columns.map((text) => html`<th scope="col">${text}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${sizes.map((size, index) => {
        const path = `fit/sizes/${index}`;
        return html`<tr>
          <th scope="row">${figure(answer, `${path}/label`, String)}</th>
          <td>${figure(answer, `${path}/fit`, (fit: string) => `runs ${fit}`, size.low_evidence ? "few returns" : "not clear")}</td>
          <td>${figure(answer, `${path}/sold_units`, count)}</td>
          <td>${figure(answer, `${path}/returned_units`, count)}</td>
          <td>${rateFigure(answer, path)}</td>
          ${groups.map(({ name, shade }) => {
            const look = size.low_evidence
              ? "hatched"
              : `heat-${shade(size[name] / Math.max(1, size.returned_units))}`;
            return html`<td class="${look}">${figure(answer, `${path}/${name}`, count)}</td>`;
          })}
          <td>${figure(answer, `${path}/returns_with_reason`, count)}</td>
          ${(["too_small", "too_large"] as const).map(
            (kind) =>
              html`<td>
                ${size[kind] !== null && figure(answer, `${path}/${kind}/share`, percent)}
                <span class="under">${intervalFigure(answer, `${path}/${kind}`, "not a size")}</span>
              </td>`,
          )}
        </tr>`;
      })}
    </tbody>
  </table>`;
}

function exchangesTable(answer: Report, { sizes, exchanges }: Fit, exportHref: string | null): Html {
  const labelOf = (size: string): string => sizes.find((each) => each.size === size)?.label ?? size;
  return dataTable(
    "Exchanged units, from size to size",
    [{ text: "Came back" }, { text: "Sent instead" }, { text: "Units", isNumber: true }],
    exchanges.map((_, index) => [
      figure(answer, `fit/exchanges/${index}/from`, labelOf),
      figure(answer, `fit/exchanges/${index}/to`, labelOf, "another product, or not known"),
      figure(answer, `fit/exchanges/${index}/units`, count),
    ]),
    null,
    { id: "fit-exchanges", exportHref },
  );
}

/** Reasons that do not count for the fit until they have a group. */
function unmapped(answer: Report, { unmapped_reasons: reasons }: Fit, call: PageCall): Html | null {
  if (reasons.length === 0) return null;
  return html`<p class="note">
    Reasons in no group, which count as other:
    ${reasons.map((_, index) => {
      const path = `fit/unmapped_reasons/${index}`;
      return html`${index > 0 && ", "}${figure(answer, `${path}/reason`, String)} (${figure(answer, `${path}/returned_units`, units)})`;
    })}.
    ${mayDo(call.role, setReasons) && html`<a href="${call.href("/settings/reasons")}">Put reasons into groups</a>`}
  </p>`;
}

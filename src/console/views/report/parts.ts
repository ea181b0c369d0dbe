import { scaleQuantize } from "d3-scale";
import { mayDo } from "../../../actions/right.ts";
import { setReasons } from "../../../actions/workspace/settings.ts";
import { OPTION_PREFIX } from "../../../contract/parameters.ts";
import { REASON_GROUP_WORDS, type BRIDGE_STEPS } from "../../../contract/report-sections.ts";
import { html, type Html } from "../../../lib/html.ts";
import { chartFrame, heatKey, scrolling, SHADES, type TableFile } from "../../charts/frame.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import { figure, figuresAt, type ApiAnswer } from "../../figure.ts";
import { count, day, money, month, percent, points, units } from "../../format.ts";
import { monthRange } from "../../months.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { stateWithoutSelector } from "../../selection.ts";
import { fact, facts, section, dataTable, numbers } from "../blocks.ts";
import { tableHref } from "../csv-link.ts";

type Report = ApiAnswer<BodyOf<"report">>;

export const REPORT_PATH = "/report";
const file = (call: PageCall, id: string): TableFile => ({ id, exportHref: tableHref(call, REPORT_PATH) });

/** Units refunded but not returned, and the reverse. */
export function refundsPart(report: Report, call: PageCall): Html {
  const at = figuresAt(report, "refunds");
  const list = [
    fact("Refunded", at("refunded_units", units)),
    fact("Refunded amount", at("refunded_amount", money(call.currencyCode)), "without tax"),
    fact("Came back, not refunded", at("returned_not_refunded_units", units)),
    fact("Refunded, did not come back", at("refunded_not_returned_units", units)),
  ];
  return section(
    "refunds",
    "Refunds and returns",
    html`<p>Refunds paid within the return window. “How returns ended” also counts later refunds of these returns.</p>
      ${facts(list, file(call, "refund-facts"))}`,
  );
}

/** Current states of return requests, and how much is known of each returned unit. */
export function lifecyclePart(report: Report, call: PageCall): Html {
  const at = figuresAt(report, "lifecycle_coverage");
  const state = (name: string, member: string) => fact(name, at(member, units));
  const none = "nothing came back";
  const labels = report.body.data.label_costs_included ? none : "label costs are not included";
  const list = [
    state("Waiting for an answer", "requested_units"),
    state("Open", "open_units"),
    state("Closed", "closed_units"),
    state("Declined", "declined_units"),
    state("Canceled", "canceled_units"),
    state("Known only from a refund", "refund_only_units"),
    fact("With a reason", at("share_with_reason", percent, none)),
    fact("With a refund", at("share_with_refund", percent, none)),
    fact("With a return label", at("share_with_label", percent, labels)),
  ];
  return section(
    "lifecycle",
    "Return requests",
    html`<p>Return requests by their current state, whatever the age of the order.</p>
      ${facts(list, file(call, "lifecycle-facts"))}`,
  );
}

/** M21: refunds still to come, in total and by month; only the fact if there is no estimate. */
export function liabilityPart(report: Report, call: PageCall): Html {
  const { liability = null } = report.body.data;
  const [id, title] = ["liability", "Still to come"] as const;
  if (liability === null)
    return section(
      id,
      title,
      html`<p>There is no estimate: the window has no end, or the store’s history is too short.</p>`,
    );
  const amount = money(call.currencyCode);
  const cells = (path: string): Html[] => {
    const at = figuresAt(report, path);
    return [
      at("expected_units", count),
      at("refund_amount", amount),
      html`${at("low_amount", amount)} to ${at("high_amount", amount)}`,
      at("goods_cost", amount, "too few unit costs are known"),
    ];
  };
  const rows = liability.months.map((_, index) => {
    const path = `liability/months/${index}`;
    return [figure(report, `${path}/cohort_month`, month), ...cells(path)];
  });
  return section(
    id,
    title,
    html`<p>
        Refunds expected within the window for orders up to ${figure(report, "liability/as_of", day)} that can still
        come back, whichever months are shown above.
        ${liability.low_evidence && html`Few units have come back so far, so the estimate uses similar products.`}
      </p>
      ${dataTable(
        "Units and refunds still to come, by month of the order",
        ["Month", ...numbers("Units", "Refunds", "Likely range", "Goods back, at cost")],
        rows,
        { ...file(call, "liability-months"), total: [html`Together`, ...cells("liability")] },
      )}`,
  );
}

export function costsPart(report: Report, call: PageCall): Html {
  const amount = money(call.currencyCode);
  const [costs, summary] = [figuresAt(report, "costs"), figuresAt(report, "summary")];
  const { label_costs_included: hasLabels } = report.body.data;
  const hasUnmatched = (report.body.data.costs?.unmatched_label_cost ?? null) !== null;
  const unmatched = hasLabels ? "known only for the whole store" : "label costs are not included";
  const list = [
    fact("Refunds", costs("refunded_amount", amount), "without tax"),
    fact(
      "Return labels",
      costs("return_label_cost", amount),
      hasLabels ? null : "not included: no label source is connected and up to date",
    ),
    fact("Returns cost", html`<strong>${costs("returns_cost", amount)}</strong>`),
    fact(
      "Sold for",
      summary("sold_amount", amount, "no price is known"),
      html`without tax, after discounts; known for
      ${summary("sold_amount_coverage", percent, "no unit, since nothing was sold")} of the units`,
    ),
    fact("Share of it refunded", summary("refund_share", percent, "prices of too few units are known")),
    fact(
      "Labels without a return",
      costs("unmatched_label_cost", amount, unmatched),
      hasUnmatched ? "charged in these months; not included above" : null,
    ),
    fact("Margin impact, estimated", costs("estimated_margin_impact", amount, "no unit cost is known")),
    fact(
      "Unit cost known",
      costs("cogs_coverage", (value) => `${value} %`),
      "of the returned units",
    ),
  ];
  return facts(list, file(call, "cost-facts"));
}

const OUTCOME_WORDS = {
  exchange: "Exchanged: other units were sent instead",
  refund: "Refunded",
  other: "Neither so far, such as store credit",
} as const;

/** The outcomes of returned units; null: not requested. */
export function outcomesPart(report: Report, call: PageCall): Html | null {
  const { outcomes } = report.body.data;
  if (outcomes === undefined) return null;
  const amount = money(call.currencyCode);
  const rows = outcomes.rows.map(({ outcome }, index) => {
    const at = figuresAt(report, `outcomes/rows/${index}`);
    return [
      html`${OUTCOME_WORDS[outcome]}`,
      at("returned_units", count),
      at("share", percent),
      at("refunded_amount", amount),
      at("kept_amount", amount),
    ];
  });
  const unattributed = fact(
    "Refunds without a line",
    figure(report, "outcomes/unattributed_refund_amount", amount, "known only for the whole store"),
    outcomes.unattributed_refund_amount === null ? null : "paid in these months; not included above",
  );
  return section(
    "outcomes",
    "How returns ended",
    html`${dataTable(
      "Returned units by outcome, as far as it is known today",
      ["Outcome", ...numbers("Units returned", "Share", "Paid back", "Kept by exchanges")],
      rows,
      file(call, "outcomes-rows"),
    )}
    ${facts([unattributed], file(call, "outcome-facts"))}`,
  );
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
export function breakdownPart(report: Report, call: PageCall): Html | null {
  const breakdown = report.body.data.breakdown;
  if (breakdown === undefined) return null;
  const amount = money(call.currencyCode);
  const title = breakdownTitle(breakdown.breakdown_by);
  const { vendor: _vendor, include_used_variants: _used, ...range } = stateWithoutSelector(call.query);
  const rows = breakdown.rows.flatMap(({ label, selector, sold_units: sold, top_reason: reason }, index) => {
    const path = `breakdown/rows/${index}`;
    const at = figuresAt(report, path);
    // The rest, where everything is listed.
    if (selector === null && sold === 0) return [];
    const cells = [
      selector === null
        ? html`${label}`
        : html`<a href="${call.href(REPORT_PATH, { ...range, ...selector })}">${label}</a>`,
      at("sold_units", count),
      at("returned_units", count),
      html`<strong>${rateFigure(report, path)}</strong>
        <small>${intervalFigure(report, `${path}/return_rate_interval`)}</small>`,
      at("refunded_amount", amount),
      at("return_label_cost", amount),
      at("returns_cost", amount),
      at("excess_return_cost", amount, "no usual rate"),
      at("sold_amount", amount, "no price is known"),
      at("refund_share", percent, "prices of too few units are known"),
      at("return_rate_change", points, "nothing to compare"),
      reason === null
        ? at("top_reason", String, "none stands out")
        : html`${at("top_reason/label", String)} <small>${at("top_reason/share", percent)}</small>`,
    ];
    return [cells];
  });
  const sizes = ["Units sold", "Units returned", "Return rate"];
  const amounts = [
    "Refunds",
    "Labels",
    "Returns cost",
    "Beyond usual",
    "Sold for",
    "Share refunded",
    "Change",
  ];
  return section(
    "breakdown",
    `By ${title === "SKU" ? title : title.toLowerCase()}`,
    dataTable(
      "The costliest and the rest; together they are the whole selection",
      [title, ...numbers(...sizes, ...amounts), "Main reason"],
      rows,
      file(call, "breakdown-rows"),
    ),
  );
}

type Step = (typeof BRIDGE_STEPS)[number]["step"];

/** The name of each step, and why it is or is not a return of these orders. */
const WORDS: Readonly<Record<Step, readonly [what: string, why: string]>> = {
  left_out_orders: [
    "Orders that do not count",
    "test orders, canceled orders, gift cards, tips, and orders left out by a rule: they count as not sold",
  ],
  order_edits: ["Removed by order edits", "never sent, so never sold"],
  canceled_before_fulfillment: ["Canceled before they were sent", "what was not sent cannot come back"],
  not_counted: [
    "Taken back, but not returned",
    "a return that is not closed yet, a refund of more units than the line had left, or one that a rule counts as money only",
  ],
  other_days: [
    "Booked on another day",
    "returned in these months but booked in others or not at all, minus those booked here but returned in others",
  ],
  other_cohorts: ["Sold in other months", "a rate belongs to the month of the order"],
  later_returns: ["Came back in other months", "returns of these orders, most of them later"],
  beyond_window: ["Came back after the window", "later than the observation window"],
  open_months: ["Of months left out", "they are still open; include months in progress to count them"],
};

/** M24: from the store's own count to this report's, and from the earlier months' rate to this one; null: not requested. */
export function bridgePart(report: Report, call: PageCall): Html | null {
  const { bridge } = report.body.data;
  if (bridge === undefined) return null;
  const at = figuresAt(report, "bridge");
  const total = (name: string, path: string, about: string): Html[] => [
    named(html`<strong>${name}</strong>`, about),
    html`<strong>${at(path, count)}</strong>`,
  ];
  const steps = bridge.steps.map(({ step }, index) => [
    named(...WORDS[step]),
    at(`steps/${index}/units`, signed),
  ]);
  const place = bridge.steps.findIndex(({ step }) => step === "other_cohorts");
  const rows = [
    total("The store’s own count", "booked_units", "taken back in these calendar months, of all orders"),
    ...steps.slice(0, place),
    total("Returned in these months", "returned_in_months_units", "whenever they were sold"),
    ...steps.slice(place),
  ];
  const last = ["returned_units", "of orders of these months, inside the window"] as const;
  return html`${section(
    "bridge",
    "Why does the store’s own report differ?",
    html`<p>
        Shopify and other tools count what was taken back in a calendar month. Here a return belongs to the month in which
        the unit was <a href="/docs/numbers">sold</a>: ${monthRange(report)}. The steps below lead from one number to the
        other; the CSV file has the SKUs and months behind each step.
      </p>
      ${dataTable(
        "From the store’s own figures to this report, in units",
        ["Step", ...numbers("Units")],
        rows,
        {
          ...file(call, "bridge-steps"),
          total: total("Returned units of this report", ...last),
        },
      )}`,
  )}${section("rate-change", "Why did the rate change?", rateChange(report, call))}`;
}

function rateChange(report: Report, call: PageCall): Html {
  const { bridge, comparison } = report.body.data;
  if (bridge?.rate_change === null || comparison === null)
    return html`<p>There are no earlier months to compare with, or nothing was sold in one of the two periods.</p>`;
  const row = (name: string, part: string, why: string): Html[] => [
    named(name, why),
    figure(report, `bridge/rate_change/${part}`, points),
  ];
  const [from, to] = ["start_month", "end_month"].map((each) => figure(report, `comparison/${each}`, month));
  const [timing, mix, rate] = [
    "the earlier orders had longer to come back; zero if every month is complete",
    "a different mix of products was sold: more, or fewer, of those that come back often",
    "the same products come back more or less often",
  ] as const;
  return html`<p>Compared with orders of ${from} to ${to}:</p>
    ${dataTable(
      "What changed the return rate",
      ["Part", ...numbers("Change")],
      [row("Timing", "timing", timing), row("Mix", "mix", mix), row("Rate", "rate", rate)],
      {
        ...file(call, "rate-parts"),
        total: row("Change of the rate", "return_rate_change", "all three together"),
      },
    )}`;
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

/** The middle shade is the product's own share of a reason. */
const DARKEST = 2;
const NAMES = Object.keys(REASON_GROUP_WORDS) as (keyof typeof REASON_GROUP_WORDS)[];
const GROUPS = [
  ...NAMES.map((name) => [`${name}_units`, REASON_GROUP_WORDS[name]] as const),
  ["no_reason_units", "No reason"] as const,
];

/** M22: which sizes come back for which reasons; null = no product, or one without sizes. */
export function sizesPart(answer: Report, call: PageCall): Html | null {
  const fit = answer.body.data.fit ?? null;
  if (fit === null) return null;
  const { sizes, bracketing, exchanges } = fit;
  const [at, bracketed] = [figuresAt(answer, "fit"), figuresAt(answer, "fit/bracketing")];
  const { id, exportHref } = file(call, "fit-sizes");
  return section(
    "sizes",
    "Sizes",
    html`${chartFrame(
      {
        id,
        title: fit.sentence === null ? "No size clearly runs small or large" : at("sentence", String),
        summary: html`Returned units by ${at("option", String)} and reason. Of the returns of other products,
        ${at("usual_too_small_share", percent)} were too small and ${at("usual_too_large_share", percent)} too large.`,
        exportHref,
      },
      html`${scrolling(id, matrix(answer, sizes))}
        <ul class="chart-legend">
          ${heatKey("rarer → more frequent among the size’s returns than among all of the product’s")}
          ${sizes.some((size) => size.low_evidence) && heatKey("few returns: fewer than 20 orders gave a reason, so the shares can change much", "hatched")}
        </ul>`,
    )}
    <p>
      ${
        bracketing.orders === 0
          ? html`There are ${bracketed("orders", count)} orders with the product.`
          : html`${bracketed("bracketed_orders", count)} of ${bracketed("orders", count)} orders with the product
            (${bracketed("share", percent)}) had two or more sizes; ${bracketed("returned_units", count)} of their
            ${bracketed("sold_units", units)} came back.`
      }
    </p>
    ${exchanges.length > 0 && exchangesTable(answer, fit, call)} ${unmapped(answer, fit, call)}`,
  );
}

const SIZE_COLUMNS = ["Size", "Fit", "Units sold", "Units returned", "Return rate"];

function matrix(answer: Report, sizes: Fit["sizes"]): Html {
  const returned = sizes.reduce((sum, { returned_units: each }) => sum + each, 0);
  // A reason without units has no column.
  const groups = GROUPS.flatMap(([name, words]) => {
    const usual = sizes.reduce((sum, size) => sum + size[name], 0) / Math.max(1, returned);
    return usual > 0 ? [{ name, words, shade: scaleQuantize(SHADES).domain([0, DARKEST * usual]) }] : [];
  });
  const columns = [
    ...SIZE_COLUMNS,
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
        const at = figuresAt(answer, path);
        return html`<tr>
          <th scope="row">${at("label", String)}</th>
          <td>${at("fit", (fit: string) => `runs ${fit}`, size.low_evidence ? "few returns" : "not clear")}</td>
          <td>${at("sold_units", count)}</td>
          <td>${at("returned_units", count)}</td>
          <td>${rateFigure(answer, path)}</td>
          ${groups.map(({ name, shade }) => {
            const share = size[name] / Math.max(1, size.returned_units);
            return html`<td class="${size.low_evidence ? "hatched" : `heat-${shade(share)}`}">${at(name, count)}</td>`;
          })}
          <td>${at("returns_with_reason", count)}</td>
          ${(["too_small", "too_large"] as const).map(
            (kind) =>
              html`<td>
                ${size[kind] !== null && at(`${kind}/share`, percent)}
                <span class="under">${intervalFigure(answer, `${path}/${kind}`, "not a size")}</span>
              </td>`,
          )}
        </tr>`;
      })}
    </tbody>
  </table>`;
}

function exchangesTable(answer: Report, { sizes, exchanges }: Fit, call: PageCall): Html {
  const labelOf = (size: string): string => sizes.find((each) => each.size === size)?.label ?? size;
  return dataTable(
    "Exchanged units, from size to size",
    ["Came back", "Sent instead", ...numbers("Units")],
    exchanges.map((_, index) => {
      const at = figuresAt(answer, `fit/exchanges/${index}`);
      return [at("from", labelOf), at("to", labelOf, "another product, or not known"), at("units", count)];
    }),
    file(call, "fit-exchanges"),
  );
}

/** Reasons that do not count for the fit until they have a group. */
function unmapped(answer: Report, { unmapped_reasons: reasons }: Fit, call: PageCall): Html | null {
  if (reasons.length === 0) return null;
  return html`<p class="note">
    Reasons in no group, which count as other:
    ${reasons.map((_, index) => {
      const at = figuresAt(answer, `fit/unmapped_reasons/${index}`);
      return html`${index > 0 && ", "}${at("reason", String)} (${at("returned_units", units)})`;
    })}.
    ${mayDo(call.role, setReasons) && html`<a href="${call.href("/settings/reasons")}">Put reasons into groups</a>`}
  </p>`;
}

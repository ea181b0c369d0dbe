import { capital } from "../../lib/capital.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, figuresAt, valueAt, type ApiAnswer } from "../figure.ts";
import { day, month, count, decimals, money, percent, units } from "../format.ts";
import type { BodyOf, PageCall } from "../page.ts";
import { alertView, type AlertView } from "../../contract/alerts.ts";
import { fact, facts, tabs } from "./blocks.ts";
import { FULL, place } from "../charts/plot.ts";

export type Alerts = ApiAnswer<BodyOf<"alerts">>;

/**
 * One problem, by its alerts in the answer, the newest first: severity as shape and word, event, reason, link, and earlier
 * alerts.
 */
export function alertItem(
  answer: Alerts,
  [index = 0, ...earlier]: readonly number[],
  isOpen: boolean,
  call: PageCall,
): Html {
  const alert = answer.body.data[index] as Alerts["body"]["data"][number];
  const kind = valueAt(answer, `${index}/metadata/kind`);
  const view = alertView(alert);
  return html`<article class="alert ${alert.severity}" id="alert-${alert.id}">
    <p class="severity">
      ${severityMark(alert.severity)} ${kindText(alert.category, kind)} ${stateText(answer, index, isOpen)} ·
      ${eventTime(answer, index)} written on ${figure(answer, `${index}/created_at`, day)}
    </p>
    <h3>${alert.title}</h3>
    ${kind === "early_warning" && earlyWarningFacts(answer, index, call)}
    ${kind === "month" && spikeFacts(answer, index)}
    ${kind !== "early_warning" && kind !== "month" && alert.body !== null && html`<p>${alert.body}</p>`}
    ${view !== null && html`<p><a href="${call.href(view.path, view.parameters)}">${linkText(view)}</a>${kind === "early_warning" && byWeek(view, call)}</p>`}
    ${
      earlier.length > 0 &&
      html`<details>
        <summary>Earlier: ${earlier.length} ${earlier.length === 1 ? "alert" : "alerts"}</summary>
        ${earlier.map((other) => alertLine(answer, other, call))}
      </details>`
    }
  </article>`;
}

/** Whether the problem is open; empty for other alerts. */
function stateText(answer: Alerts, index: number, isOpen: boolean): Html | null {
  if (typeof valueAt(answer, `${index}/metadata/state`) !== "string") return null;
  const started = html`since ${figure(answer, `${index}/metadata/started_on`, day)}`;
  return html`· <strong>${isOpen ? "open" : "ended"}</strong> ${isOpen && started}`;
}

/** Date of the event, if it differs from that of the alert. */
function eventTime(answer: Alerts, index: number): Html | null {
  const at = figuresAt(answer, `${index}/metadata`);
  const has = (name: string) => typeof valueAt(answer, `${index}/metadata/${name}`) === "string";
  if (has("ended_on")) return html`ended on ${at("ended_on", day)},`;
  if (has("as_of")) return html`as of ${at("as_of", day)},`;
  return has("cohort_month") ? html`orders of ${at("cohort_month", month)},` : null;
}

/** The same in two lines, for a page that is about more than alerts. */
function alertLine(answer: Alerts, index: number, call: PageCall): Html {
  const alert = answer.body.data[index] as Alerts["body"]["data"][number];
  const view = alertView(alert);
  return html`<article class="alert brief ${alert.severity}">
    <p class="severity">
      ${severityMark(alert.severity)} ${kindText(alert.category, valueAt(answer, `${index}/metadata/kind`))} ·
      ${figure(answer, `${index}/created_at`, day)}
    </p>
    <h3>
      ${view === null ? alert.title : html`<a href="${call.href(view.path, view.parameters)}">${alert.title}</a>`}
    </h3>
  </article>`;
}

/** Alerts for everybody, and the viewer's notices. */
export function alertTabs({ href }: PageCall, current: "all" | "yours"): Html {
  return tabs("Alerts and notices", [
    { text: "All alerts", href: href("/alerts"), isCurrent: current === "all" },
    { text: "Yours", href: href("/settings/notices"), isCurrent: current === "yours" },
  ]);
}

const SEVERITIES = {
  critical: ["Critical", "M7 1h10l6 6v10l-6 6H7l-6-6V7zM12 6v7M12 16v2"],
  warning: ["Warning", "M12 2 23 22H1zM12 9v6M12 17.5v1.5"],
  info: ["For information", "M12 1a11 11 0 1 1 0 22 11 11 0 0 1 0-22M12 11v7M12 6v2"],
} as const;

export function severityMark(severity: keyof typeof SEVERITIES): Html {
  const [word, path] = SEVERITIES[severity];
  return html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path d="${path}" /></svg>
    <strong>${word}</strong>`;
}

const CATEGORY_TEXTS: Readonly<Record<string, string>> = {
  return_rate_watchlist: "return rate",
  connection_stale: "connection",
  report_ready: "month complete",
  backfill_completed: "import",
};

function kindText(category: string, kind: unknown): string {
  if (kind === "early_warning") return "· early warning";
  return `· ${CATEGORY_TEXTS[category] ?? category}`;
}

/** An early warning is about days, so its development is shown by week. */
function byWeek(
  { path, parameters: { reportSection: _section, ...months } }: AlertView,
  call: PageCall,
): Html {
  return html` · <a href="${call.href(path, { ...months, interval: "week" })}#trend">See it by week</a>`;
}

/** The label of an alert's link; the target is in its link_url. */
function linkText({ path, parameters }: AlertView): string {
  if (path === "") return "Open the overview";
  if (parameters["reportSection"] === "reasons") return "See why in its report";
  return `Open the report of ${month(parameters["start_month"] ?? "") as string}`;
}

/** M17 for people: returned and expected numbers, since when, why, and the cost. */
function earlyWarningFacts(answer: Alerts, index: number, call: PageCall): Html {
  const path = `${index}/metadata`;
  const at = figuresAt(answer, path);
  const [returned, expected] = ["returned_lines", "expected_lines"].map((each) =>
    Number(valueAt(answer, `${path}/${each}`)),
  ) as [number, number];
  return html`${againstUsual(
    {
      name: html`Came back by ${at("as_of", day)}`,
      what: html`<strong>${at("returned_lines", count)}</strong> of ${at("sold_lines", count)} order lines`,
      size: returned,
    },
    {
      name: "Expected by then",
      what: html`<strong>${at("expected_lines", oneDecimal)}</strong> at its usual rate`,
      size: expected,
    },
    Math.max(returned, expected, 1),
  )}
  ${facts([
    fact(
      "Ordered",
      html`${at("ordered_from", day)} to ${at("ordered_to", day)}`,
      html`${at("sold_units", units)}, of which ${at("returned_units", count)} came back, from
      ${at("returned_orders", count)} orders`,
    ),
    fact("Most frequent reason", topReason(answer, path)),
    ...partsFact(answer, path, call),
    fact("Cost beyond usual", at("excess_cost", money(call.currencyCode)), "refunds and labels so far"),
    fact(
      "Probability of chance",
      at("p", chance),
      "that so many come back by chance alone; a warning needs 0.1 % or less",
    ),
  ])}`;
}

type Side = { name: Html | string; what: Html; size: number };

/** Two sides with a bar each, visual copies of the figures above them, on an axis to `longest`. */
function againstUsual(own: Side, usual: Side, longest: number): Html {
  const bar = (size: number, look: "plain" | "quiet"): Html =>
    html`<dd>
      <svg class="bar ${look}" aria-hidden="true">
        <rect
          class="part-1"
          x="0%"
          width="${place(FULL * Math.min(Math.max(size / longest, 0), 1))}"
          height="100%"
        />
      </svg>
    </dd>`;
  return html`<dl class="against">
    <div>
      <dt>${own.name}</dt>
      <dd>${own.what}</dd>
      ${bar(own.size, "plain")}
    </div>
    <div class="usual">
      <dt>${usual.name}</dt>
      <dd>${usual.what}</dd>
      ${bar(usual.size, "quiet")}
    </div>
  </dl>`;
}

function topReason(answer: Alerts, path: string): Html {
  const at = figuresAt(answer, path);
  if ((valueAt(answer, `${path}/top_reason`) ?? null) === null)
    return at("top_reason", String, "none was given");
  return html`${at("top_reason/reason", reasonText)}, ${at("top_reason/share", percent)} of the returned units`;
}

type Part = Record<string, string | number>;

/** The narrower entities that hold most of the excess, each with its report. */
function partsFact(answer: Alerts, path: string, call: PageCall) {
  const parts = (valueAt(answer, `${path}/parts`) ?? []) as readonly Part[];
  if (parts.length === 0) return [];
  const value = html`${parts.map((part, index) => {
    // Alerts of 1.0.0 have no label.
    const { excess_lines: _excess, label, ...selector } = part;
    const name = label ?? selector["sku"] ?? selector["product_gid"] ?? selector["product_group_key"] ?? "";
    const lines = figure(answer, `${path}/parts/${index}/excess_lines`, oneDecimal);
    return html`${index > 0 && ", "}<a href="${call.href("/report", selector)}">${name}</a> (${lines})`;
  })}`;
  return [fact("Where", value, "order lines beyond usual")];
}

/** M16 for people: the month's rate compared with the six months before. */
function spikeFacts(answer: Alerts, index: number): Html {
  const path = `${index}/metadata`;
  const at = figuresAt(answer, path);
  const rate = Number(valueAt(answer, `${path}/return_rate`));
  const baseline = Number(valueAt(answer, `${path}/baseline_rate`));
  const warned = valueAt(answer, `${path}/early_warning_on`) ?? null;
  return html`${againstUsual(
    {
      name: at("cohort_month", month),
      what: html`<strong>${at("return_rate", percent)}</strong> ${at("returned_units", count)} of
        ${at("sold_units", units)}`,
      size: rate,
    },
    {
      name: "The six months before",
      what: html`<strong>${at("baseline_rate", percent)}</strong>`,
      size: baseline,
    },
    Math.max(rate, baseline) || 1,
  )}
  ${warned !== null && html`<p class="note">An early warning came on ${at("early_warning_on", day)}.</p>`}`;
}

const oneDecimal = decimals(1);
const hundredthsOfPercent = decimals(2, "percent");

/** 0.000701 → "0.07 %"; tiny values only by order of magnitude. */
function chance(p: number): string | Html {
  return p < 0.0001 ? "less than 0.01 %" : hundredthsOfPercent(p);
}

/** The store's own reason, codes as words: "SIZE_TOO_SMALL" → "Size too small". */
function reasonText(reason: string): string {
  if (!/^[A-Za-z0-9_-]+$/u.test(reason)) return reason;
  return capital(reason.replaceAll(/[_-]+/gu, " ").trim().toLowerCase());
}

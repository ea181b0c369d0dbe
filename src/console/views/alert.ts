import { capital } from "../../lib/capital.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { day, month, count, decimals, money, percent, units } from "../format.ts";
import type { BodyOf, PageCall } from "../page.ts";
import { alertView, type AlertView } from "../../contract/alerts.ts";
import { tabs, facts } from "./blocks.ts";
import { FULL, place as coordinate } from "../charts/plot.ts";

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
  const place = alertView(alert);
  return html`<article class="alert ${alert.severity}" id="alert-${alert.id}">
    <p class="severity">
      ${severityMark(alert.severity)} ${kindText(alert.category, kind)} ${stateText(answer, index, isOpen)} ·
      ${eventTime(answer, index)} written on ${figure(answer, `${index}/created_at`, day)}
    </p>
    <h3>${alert.title}</h3>
    ${kind === "early_warning" && earlyWarningFacts(answer, index, call)}
    ${kind === "month" && spikeFacts(answer, index)}
    ${kind !== "early_warning" && kind !== "month" && alert.body !== null && html`<p>${alert.body}</p>`}
    ${place !== null && html`<p><a href="${call.href(place.path, place.parameters)}">${linkText(place)}</a>${kind === "early_warning" && byWeek(place, call)}</p>`}
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
  const at = (name: string) => `${index}/metadata/${name}`;
  if (typeof valueAt(answer, at("ended_on")) === "string")
    return html`ended on ${figure(answer, at("ended_on"), day)},`;
  if (typeof valueAt(answer, at("as_of")) === "string")
    return html`as of ${figure(answer, at("as_of"), day)},`;
  if (typeof valueAt(answer, at("cohort_month")) === "string")
    return html`orders of ${figure(answer, at("cohort_month"), month)},`;
  return null;
}

/** The same in two lines, for a page that is about more than alerts. */
function alertLine(answer: Alerts, index: number, call: PageCall): Html {
  const alert = answer.body.data[index] as Alerts["body"]["data"][number];
  const place = alertView(alert);
  return html`<article class="alert brief ${alert.severity}">
    <p class="severity">
      ${severityMark(alert.severity)} ${kindText(alert.category, valueAt(answer, `${index}/metadata/kind`))} ·
      ${figure(answer, `${index}/created_at`, day)}
    </p>
    <h3>
      ${place === null ? alert.title : html`<a href="${call.href(place.path, place.parameters)}">${alert.title}</a>`}
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
  const at = (name: string): number => Number(valueAt(answer, `${path}/${name}`));
  const returned = at("returned_lines");
  const expected = at("expected_lines");
  const longest = Math.max(returned, expected, 1);
  return html`<dl class="against">
      <div>
        <dt>Came back by ${figure(answer, `${path}/as_of`, day)}</dt>
        <dd>
          <strong>${figure(answer, `${path}/returned_lines`, count)}</strong> of
          ${figure(answer, `${path}/sold_lines`, count)} order lines
        </dd>
        <dd>${bar([returned / longest])}</dd>
      </div>
      <div class="usual">
        <dt>Expected by then</dt>
        <dd><strong>${figure(answer, `${path}/expected_lines`, oneDecimal)}</strong> at its usual rate</dd>
        <dd>${bar([expected / longest], null, "quiet")}</dd>
      </div>
    </dl>
    ${facts([
      {
        name: "Ordered",
        value: html`${figure(answer, `${path}/ordered_from`, day)} to
        ${figure(answer, `${path}/ordered_to`, day)}`,
        note: html`${figure(answer, `${path}/sold_units`, units)}, of which
        ${figure(answer, `${path}/returned_units`, count)} came back, from
        ${figure(answer, `${path}/returned_orders`, count)} orders`,
      },
      { name: "Most frequent reason", value: topReason(answer, path) },
      ...partsFact(answer, path, call),
      {
        name: "Cost above the usual",
        value: figure(answer, `${path}/excess_cost`, money(call.currencyCode)),
        note: "refunds and labels so far",
      },
      {
        name: "Chance",
        value: html`${figure(answer, `${path}/p`, chance)}`,
        note: "of this many by chance alone; a warning needs 0.1 % or less",
      },
    ])}`;
}

function topReason(answer: Alerts, path: string): Html {
  if ((valueAt(answer, `${path}/top_reason`) ?? null) === null)
    return figure(answer, `${path}/top_reason`, String, "none was given");
  return html`${figure(answer, `${path}/top_reason/reason`, reasonText)},
  ${figure(answer, `${path}/top_reason/share`, percent)} of the returned units`;
}

type Part = Record<string, string | number>;

/** The narrower entities that hold most of the excess, each with its report. */
function partsFact(answer: Alerts, path: string, call: PageCall) {
  const parts = (valueAt(answer, `${path}/parts`) ?? []) as readonly Part[];
  if (parts.length === 0) return [];
  const value = html`${parts.map((part, index) => {
    const { excess_lines: _excess, ...selector } = part;
    const name = selector["sku"] ?? selector["product_gid"] ?? selector["product_group_key"] ?? "";
    const lines = figure(answer, `${path}/parts/${index}/excess_lines`, oneDecimal);
    return html`${index > 0 && ", "}<a href="${call.href("/report", selector)}">${name}</a> (${lines})`;
  })}`;
  return [{ name: "Where", value, note: "order lines above the usual" }];
}

/** M16 for people: the month's rate compared with the six months before. */
function spikeFacts(answer: Alerts, index: number): Html {
  const path = `${index}/metadata`;
  const rate = Number(valueAt(answer, `${path}/return_rate`));
  const baseline = Number(valueAt(answer, `${path}/baseline_rate`));
  const longest = Math.max(rate, baseline) || 1;
  const warned = valueAt(answer, `${path}/early_warning_on`) ?? null;
  return html`<dl class="against">
      <div>
        <dt>${figure(answer, `${path}/cohort_month`, month)}</dt>
        <dd>
          <strong>${figure(answer, `${path}/return_rate`, percent)}</strong>
          ${figure(answer, `${path}/returned_units`, count)} of ${figure(answer, `${path}/sold_units`, units)}
        </dd>
        <dd>${bar([rate / longest])}</dd>
      </div>
      <div class="usual">
        <dt>The six months before</dt>
        <dd><strong>${figure(answer, `${path}/baseline_rate`, percent)}</strong></dd>
        <dd>${bar([baseline / longest], null, "quiet")}</dd>
      </div>
    </dl>
    ${warned !== null && html`<p class="note">An early warning came on ${figure(answer, `${path}/early_warning_on`, day)}.</p>`}`;
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
  const words = reason.replaceAll(/[_-]+/gu, " ").trim().toLowerCase();
  return capital(words);
}

/**
 * A bar inside a table cell, a visual copy of the figures next to it. `parts`: consecutive lengths, as shares of the table's
 * longest bar; `mark`: a line across it, on the same scale. A "quiet" bar is the reference for the others.
 */
function bar(parts: readonly number[], mark: number | null = null, look: "plain" | "quiet" = "plain"): Html {
  let from = 0;
  const rectangles = parts.map((part, index) => {
    const x = from;
    from += part;
    return html`<rect class="part-${index + 1}" x="${share(x)}" width="${share(part)}" height="100%" />`;
  });
  return html`<svg class="bar ${look}" aria-hidden="true">
    ${rectangles}${
      mark !== null && html`<line class="mark" x1="${share(mark)}" x2="${share(mark)}" y1="-30%" y2="130%" />`
    }
  </svg>`;
}

/** A part that is longer than the table's longest bar, or negative, ends at the edge. */
function share(part: number): string {
  return coordinate(FULL * Math.min(Math.max(part, 0), 1));
}

import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { day, month } from "../format.ts";
import type { BodyOf, PageCall } from "../page.ts";
import { alertView } from "../../contract/alert-view.ts";
import type { AlertView } from "../../contract/alert-view.ts";
import { tabs } from "./tabs.ts";
import { earlyWarningFacts, spikeFacts } from "./alert-facts.ts";

export type Alerts = ApiAnswer<BodyOf<"alerts">>;

/**
 * One problem, by its alerts in the answer, the newest first: how much it matters in shape and word, what happened, why it was
 * raised, where to look, and what was said before.
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
    ${place !== null && html`<p><a href="${call.href(place.path, place.parameters)}">${linkText(place)}</a></p>`}
    ${
      earlier.length > 0 &&
      html`<details>
        <summary>Earlier: ${earlier.length} ${earlier.length === 1 ? "alert" : "alerts"}</summary>
        ${earlier.map((other) => alertLine(answer, other, call))}
      </details>`
    }
  </article>`;
}

/** Whether the problem goes on; of alerts that are no problem nothing. */
function stateText(answer: Alerts, index: number, isOpen: boolean): Html | null {
  if (typeof valueAt(answer, `${index}/metadata/state`) !== "string") return null;
  const started = html`since ${figure(answer, `${index}/metadata/started_on`, day)}`;
  return html`· <strong>${isOpen ? "open" : "ended"}</strong> ${isOpen && started}`;
}

/** When it happened, where that is another day than that of its writing. */
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

/** The alerts of everybody, and the notices of whoever looks. */
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

/** What the link to what an alert is about is called; where it leads is what its link_url says. */
function linkText({ path, parameters }: AlertView): string {
  if (path === "") return "Open the overview";
  if (parameters["reportSection"] === "reasons") return "See why in its report";
  return `Open the report of ${month(parameters["start_month"] ?? "") as string}`;
}

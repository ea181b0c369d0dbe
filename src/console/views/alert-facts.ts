import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import { count, day, decimals, money, month, percent, units } from "../format.ts";
import type { PageCall } from "../page.ts";
import type { Alerts } from "./alert.ts";
import { bar } from "./bar.ts";
import { facts } from "./facts.ts";

/** M17 for people: how many came back against how many were expected by now, since when, why, and what it cost. */
export function earlyWarningFacts(answer: Alerts, index: number, call: PageCall): Html {
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

/** M16 for people: the month's rate against that of the six months before. */
export function spikeFacts(answer: Alerts, index: number): Html {
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

/** 0.000701 → "0.07 %"; tiny ones by their order alone. */
function chance(p: number): string | Html {
  return p < 0.0001 ? "less than 0.01 %" : hundredthsOfPercent(p);
}

/** The store's own reason, codes as words: "SIZE_TOO_SMALL" → "Size too small". */
function reasonText(reason: string): string {
  if (!/^[A-Za-z0-9_-]+$/u.test(reason)) return reason;
  const words = reason.replaceAll(/[_-]+/gu, " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

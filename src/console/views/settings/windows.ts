import type { WindowPreview } from "../../../control/window-preview.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { figure } from "../../figure.ts";
import type { Format } from "../../figure.ts";
import { count, days, month, percent, units } from "../../format.ts";
import type { PageCall } from "../../page.ts";
import type { Today } from "../../settings/windows.ts";
import { dataTable } from "../table.ts";

type Row = { name: string; now: Html; saved: (preview: WindowPreview) => Html };

/** What the settings of today give, and beside it what those of the preview would. */
export function compared(
  { ranking, summary }: Exclude<Today, null>,
  preview: WindowPreview | null,
  { primaryWindowDays }: PageCall,
): Html {
  if (summary === null) {
    return html`<p class="banner">No month is complete yet, so there is no figure that another window would change.</p>`;
  }
  const rate = figure(summary, "return_rate", percent);
  const of = html`${figure(summary, "returned_units", count)} of ${figure(summary, "sold_units", units)}`;
  const list: Row[] = [
    {
      name: "Return window",
      now: html`${days(primaryWindowDays)}`,
      saved: (wanted) => previewed("primary_window_days", wanted.primaryWindowDays, days),
    },
    {
      name: "Newest complete month",
      now: figure(ranking, "meta/complete_through", month),
      saved: (wanted) => previewed("complete_through", wanted.endMonth, month),
    },
    {
      name: "Return rate of the 12 months up to it",
      now: html`<strong>${rate}</strong> <small>${of}</small>`,
      saved: (wanted) =>
        html`<strong>${previewed("return_rate", wanted.returnRate, percent)}</strong>
          <small
            >${previewed("returned_units", wanted.returnedUnits, count)} of
            ${previewed("sold_units", wanted.soldUnits, units)}</small
          >`,
    },
    {
      name: "SKUs that are ranked",
      now: html`${figure(ranking, "total_eligible_count", count)}
        <small>with ${figure(ranking, "min_sold_units", units)} sold or more</small>`,
      saved: (wanted) =>
        html`${previewed("total_eligible_count", wanted.rankedSkus, count)}
          <small>with ${previewed("min_sold_units", wanted.minSoldUnits, units)} sold or more</small>`,
    },
  ];
  const columns = [
    { text: "What follows" },
    { text: "Now" },
    ...(preview === null ? [] : [{ text: "If saved" }]),
  ];
  return dataTable(
    preview === null ? "What these settings give" : "What these settings give, and what the others would",
    columns,
    list.map(({ name, now, saved }) => [html`${name}`, now, ...(preview === null ? [] : [saved(preview)])]),
  );
}

/** A figure that the API gives only once the settings are saved. */
function previewed<Value extends number | string>(name: string, value: Value, format: Format<Value>): Html {
  return html`<data value="${String(value)}" data-preview="${name}">${format(value)}</data>`;
}

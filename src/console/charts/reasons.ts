import { max } from "d3-array";
import { html, type Html } from "../../lib/html.ts";
import { figure, figuresAt, valueAt, type ApiAnswer } from "../figure.ts";
import { count, percent } from "../format.ts";
import { chartFrame, nothingToDraw, type ChartInput } from "./frame.ts";
import { place, FULL } from "./plot.ts";

type Reason = { kind: "stated" | "refund_only" | "unspecified"; returned_units: number; share: number };

/**
 * Why do things come back? A table with a bar in each row, which is the chart itself. `limit` = the number of reasons to list,
 * `moreHref` = where the others are.
 */
export function reasonsChart({
  answer,
  exportHref,
  limit,
  moreHref,
}: ChartInput & { limit?: number; moreHref?: string }): Html {
  const all = (valueAt(answer, "return_reasons") ?? []) as Reason[];
  const longest = max(all, (reason) => reason.returned_units) ?? 0;
  if (longest <= 0) return nothingToDraw("Nothing came back, so there are no reasons to list.");
  const reasons = all.slice(0, limit);
  const isCut = reasons.length < all.length;
  const id = `${answer.name}-reasons`;
  const bars = reasons.map(({ kind, returned_units: returned }, index) => {
    const at = figuresAt(answer, `return_reasons/${index}`);
    return html`<tr>
      <th scope="row">${at("label", String)}</th>
      <td>
        <svg class="bar" aria-hidden="true">
          <rect
            class="${kind === "stated" ? "series-1" : "outline-1"}"
            width="${place((FULL * Math.max(0, returned)) / longest)}"
            height="100%"
          />
        </svg>
      </td>
      <td>${at("returned_units", count)}</td>
      <td>${at("share", percent)}</td>
    </tr>`;
  });
  return chartFrame(
    {
      id,
      title: findingOf(answer, all),
      summary: "Reasons given for the units that came back, most frequent first.",
      exportHref,
    },
    html`<table class="bars" aria-labelledby="${id}-title">
        <thead>
          <tr>
            <th scope="col">Reason</th>
            <td></td>
            <th scope="col">Units returned</th>
            <th scope="col">Share</th>
          </tr>
        </thead>
        <tbody>
          ${bars}
        </tbody>
      </table>
      ${reasons.some(({ kind }) => kind !== "stated") && html`<p class="chart-note">Hollow bars: no reason was given.</p>`}
      ${isCut && html`<p class="chart-note">Rarer reasons are left out here.${moreHref !== undefined && html` <a href="${moreHref}">All reasons</a>`}</p>`}`,
  );
}

/** How many equally frequent reasons are named. */
const MOST_TIED = 3;

function findingOf(answer: ApiAnswer, reasons: readonly Reason[]): Html {
  const stated = reasons.findIndex((reason) => reason.kind === "stated");
  const share = (index: number): Html => figure(answer, `return_reasons/${index}/share`, percent);
  if (stated < 0) return html`No reason is known for the units that came back`;
  const label = (index: number): Html => html`“${figure(answer, `return_reasons/${index}/label`, String)}”`;
  const name = label(stated);
  const units = reasons[stated]?.returned_units;
  const tied = reasons.flatMap((reason, index) =>
    reason.kind === "stated" && reason.returned_units === units ? [index] : [],
  );
  if (tied.length > 1) {
    const names = tied.slice(0, MOST_TIED).map((index, order) => html`${order > 0 && ", "}${label(index)}`);
    const more = tied.length > MOST_TIED ? " and others" : "";
    return html`No single reason is most frequent: ${names}${more} have ${share(stated)} of the returned units each`;
  }
  if (stated === 0) return html`${name} is the most frequent reason: ${share(0)} of the returned units`;
  return html`Of the reasons given, ${name} leads: ${share(stated)} of the returned units`;
}

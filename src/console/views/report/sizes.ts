import { scaleQuantize } from "d3-scale";
import { mayDo } from "../../../actions/right.ts";
import { setReasons } from "../../../actions/workspace/reasons.ts";
import { REASON_GROUP_WORDS } from "../../../contract/report-fit.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { exportLink, scrolling } from "../../charts/frame.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import { figure } from "../../figure.ts";
import type { ApiAnswer } from "../../figure.ts";
import { count, percent, units } from "../../format.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { dataTable } from "../table.ts";

type Report = ApiAnswer<BodyOf<"report">>;
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
  // A reason that nobody gave is no column.
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

/** Reasons that say nothing of the fit until somebody puts them into a group. */
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

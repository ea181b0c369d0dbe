import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count } from "../format.ts";
import type { BodyOf, PageCall } from "../page.ts";
import type { Filter } from "./filters.ts";
import { selectField } from "./filters.ts";

type Leaderboard = ApiAnswer<BodyOf<"return-rate-leaderboard"> | BodyOf<"return-cost-leaderboard">>;

export function limitField(current: string, limits: readonly string[]): Filter {
  return selectField(
    "limit",
    "Show",
    current,
    limits.map((limit) => [limit, `the first ${limit}`]),
  );
}

const LEAST_RATES = ["0.05", "0.1", "0.15", "0.2", "0.3", "0.5"];

/** Choices of a lowest rate; their values are the API's. */
export function rateOptions(): (readonly [value: string, text: string])[] {
  return [["", "any"], ...LEAST_RATES.map((rate) => [rate, `${Number(rate) * 100} % or more`] as const)];
}

const FILTERS = ["vendor", "min_return_rate", "min_sold_units", "min_cost"];

/** How many of the ranked SKUs are shown and why no more, or why there is none. `asked`: the limit that was asked for. */
export function rankedNote(answer: Leaderboard, call: PageCall, path: string, asked: string): Html {
  const { data, meta } = answer.body;
  if (meta.vendor_known === false) {
    return html`<p class="banner">
      No product is of the vendor “${meta.vendor}”. Enter the name exactly as it is written in the store.
      <a href="${call.href("/products", { q: meta.vendor ?? "" })}">Search the catalogue</a>
    </p>`;
  }
  if (data.total_eligible_count === 0) return nothingRanked(call, path);
  const eligible = figure(answer, "total_eligible_count", count);
  const isClamped = !meta.full_leaderboards && "min_sold_units" in data;
  const plan = isClamped && planNote(answer, asked);
  return html`<p class="shown">
    ${figure(answer, "meta/returned", count)} of ${eligible} ranked SKUs ${plan}
  </p>`;
}

function nothingRanked(call: PageCall, path: string): Html {
  const isFiltered = FILTERS.some((name) => (call.query[name] ?? "") !== "");
  if (!isFiltered) return html`<p class="banner">No SKU is ranked in these months.</p>`;
  const { query } = call;
  const rest = Object.fromEntries(Object.entries(query).filter(([name]) => !FILTERS.includes(name)));
  return html`<p class="banner">
    No SKU passes these filters. <a href="${call.href(path, rest)}">Show all</a>
  </p>`;
}

/** A plan without full leaderboards shows the first of the ranking, whatever is asked for. */
function planNote(answer: Leaderboard, asked: string): Html {
  return Number(asked) > answer.body.meta.limit
    ? html`· your plan shows the first ${figure(answer, "meta/limit", count)} of the ranking`
    : html`· your plan shows only the first of the ranking`;
}

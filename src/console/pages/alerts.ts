import { readFigures } from "../../actions/right.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { ApiAnswer } from "../figure.ts";
import { day } from "../format.ts";
import { definePage } from "../page.ts";
import { parameterNames } from "../page-names.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { pick } from "../selection.ts";
import { alertItem, alertTabs } from "../views/alert.ts";
import { filterForm, selectField } from "../views/filters.ts";
import { pageLinks } from "../views/page-links.ts";

const PATH = "/alerts";
const TITLE = "Alerts";
const LIMIT = 25;

type Alerts = ApiAnswer<BodyOf<"alerts">>;

/** What changed, newest first, day by day. */
export const alerts = definePage<Alerts>({
  name: "alerts",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: parameterNames("alerts"),
  data: (call) => call.read("alerts", "alerts", { limit: LIMIT, ...call.query }),
  view: (answer, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${alertTabs(call, "all")}
      <p class="lead">
        What comes back more than before, and what happened to the data. Newest first; days are in UTC.
      </p>
      ${form(call)} ${feed(answer, call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${form(call)}`,
  }),
});

const CATEGORIES = [
  ["", "everything"],
  ["return_rate_watchlist", "return rates"],
  ["report_ready", "finished months"],
  ["connection_stale", "connections"],
  ["backfill_completed", "imports"],
] as const;

function form(call: PageCall): Html {
  const category = selectField("category", "About", call.query["category"] ?? "", CATEGORIES);
  return filterForm(call, PATH, pick(call.query, ["since"]), [category]);
}

function feed(answer: Alerts, call: PageCall): Html {
  const { data, meta } = answer.body;
  if (data.length === 0) return nothing(call);
  const days = [...new Set(data.map(dayOf))];
  return html`${days.map(
    (shown) =>
      html`<section class="feed-day">
        <h2><time datetime="${shown}">${day(shown)}</time></h2>
        ${data.map((alert, index) => dayOf(alert) === shown && alertItem(answer, index, call))}
      </section>`,
  )}
  ${pageLinks(call, PATH, meta.next_cursor)}`;
}

function dayOf({ created_at }: Alerts["body"]["data"][number]): string {
  return created_at.slice(0, "YYYY-MM-DD".length);
}

function nothing(call: PageCall): Html {
  const isFiltered = ["category", "since", "cursor"].some((name) => (call.query[name] ?? "") !== "");
  return isFiltered
    ? html`<p class="banner">No alert is about that. <a href="${call.href(PATH)}">Show all alerts</a></p>`
    : html`<p class="banner">
        No alert yet. One appears when something comes back more than before, when a month is complete, and when
        a connection stops.
      </p>`;
}

import { readFigures } from "../../actions/right.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, type ApiAnswer } from "../figure.ts";
import { day } from "../format.ts";
import { definePage, type BodyOf, type PageCall, type View } from "../page.ts";
import { parameterNames } from "../page-names.ts";
import { alertItem, alertTabs } from "../views/alert.ts";
import { pageLinks, dataTable } from "../views/blocks.ts";
import { barCsv, tableHref } from "../views/csv-link.ts";
import { filterBar, selectField } from "../views/filters.ts";

const PATH = "/alerts";
const TITLE = "Alerts";
const TABLE = "alerts";
const LIMIT = 25;

type Alerts = ApiAnswer<BodyOf<"alerts">>;
type Alert = Alerts["body"]["data"][number];
/** `openIds`: the open problems among those of the feed. */
type AlertsData = { feed: Alerts; openIds: ReadonlySet<string> };

/** Alerts, newest first, by day; alerts of one problem are one entry. */
export const alerts = definePage<AlertsData>({
  name: "alerts",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: parameterNames("alerts"),
  async data(call) {
    const shown = await call.read("alerts", "alerts", { limit: LIMIT, ...call.query });
    return { feed: shown, openIds: await openSince(shown.body.data.at(-1), call) };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`${bar(call)}
      <h1>${TITLE}</h1>
      ${alertTabs(call, "all")}
      <p class="lead">
        What comes back more than before, and what happened to the data. Newest first; days are in UTC.
      </p>
      ${feed(data, call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`${bar(call)}
      <h1>${TITLE}</h1>`,
  }),
});

async function openSince(oldest: Alert | undefined, call: PageCall): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  let cursor: string | null = "";
  let isCovered = false;
  for (let page = 1; cursor !== null && !isCovered; page += 1) {
    const name = page === 1 ? "open" : `open ${page}`;
    const { body }: Alerts = await call.read(name, "alerts", { state: "open", limit: 100, cursor });
    for (const alert of body.data) ids.add(problemOf(alert));
    cursor = body.meta.next_cursor;
    isCovered = oldest === undefined || (body.data.at(-1)?.created_at ?? "") < oldest.created_at;
  }
  return ids;
}

const CATEGORIES = [
  ["", "everything"],
  ["return_rate_watchlist", "return rates"],
  ["report_ready", "complete months"],
  ["connection_stale", "connections"],
  ["backfill_completed", "imports"],
] as const;

const STATES = [
  ["", "any"],
  ["open", "open now"],
  ["ended", "ended"],
] as const;

function bar(call: PageCall): Html {
  return filterBar(call, PATH, {
    takes: parameterNames("alerts"),
    csv: barCsv(call, PATH, TABLE),
    filters: [
      selectField("category", "About", call.query["category"] ?? "", CATEGORIES),
      selectField("state", "State", call.query["state"] ?? "", STATES),
    ],
  });
}

function feed({ feed: answer, openIds }: AlertsData, call: PageCall): Html {
  const { data, meta } = answer.body;
  if (data.length === 0) return nothing(call);
  const entries = [...Map.groupBy(data.keys(), (index) => problemOf(data[index] as Alert)).values()];
  const isOpen = ([first = 0]: readonly number[]): boolean => openIds.has(problemOf(data[first] as Alert));
  const days = Map.groupBy(entries, ([first = 0]) => dayOf(data[first] as Alert));
  return html`${[...days].map(
    ([shown, ofDay]) =>
      html`<section class="feed-day">
        <h2><time datetime="${shown}">${day(shown)}</time></h2>
        ${ofDay.map((entry) => alertItem(answer, entry, isOpen(entry), call))}
      </section>`,
  )}
  ${pageLinks(call, PATH, meta.next_cursor)} ${asTable(answer, openIds, call)}`;
}

/** The same, an alert a line, for the file. */
function asTable(answer: Alerts, openIds: ReadonlySet<string>, call: PageCall): Html {
  const rows = answer.body.data.map((alert, index) => {
    const isProblem = typeof alert.metadata?.["state"] === "string";
    return [
      html`${alert.title}`,
      html`${alert.severity}`,
      html`${CATEGORIES.find(([category]) => category === alert.category)?.[1] ?? alert.category}`,
      html`${isProblem && (openIds.has(problemOf(alert)) ? "open" : "ended")}`,
      isProblem ? figure(answer, `${index}/metadata/started_on`, day) : html``,
      figure(answer, `${index}/created_at`, day),
    ];
  });
  return html`<details class="chart-table">
    <summary>These alerts as a table</summary>
    ${dataTable("Alerts, newest first", ["Alert", "Severity", "About", "State", "Since", "Written"], rows, {
      id: TABLE,
      exportHref: tableHref(call, PATH),
    })}
  </details>`;
}

/** Equal for all alerts of one problem. */
function problemOf({ id, metadata }: Alert): string {
  const episode = metadata?.["episode_id"];
  return typeof episode === "string" ? episode : id;
}

function dayOf({ created_at }: Alert): string {
  return created_at.slice(0, "YYYY-MM-DD".length);
}

function nothing(call: PageCall): Html {
  const isFiltered = ["category", "state", "since", "cursor"].some((name) => (call.query[name] ?? "") !== "");
  return isFiltered
    ? html`<p class="banner">No alert matches this filter. <a href="${call.href(PATH)}">Show all alerts</a></p>`
    : html`<p class="banner">
        No alert yet. One appears when something comes back more than before, when a month is complete, and when
        a connection stops.
      </p>`;
}

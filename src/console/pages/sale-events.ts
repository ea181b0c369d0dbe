import { mayDo, readFigures } from "../../actions/right.ts";
import { addSaleEvent } from "../../actions/sale-events/actions.ts";
import { html, type Html } from "../../lib/html.ts";
import { areFew, differ, intervalFigure, soldFigure, type Rate } from "../charts/rates.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { count, day, percent, points } from "../format.ts";
import { monthsOf, monthsOfRefused, type MonthQuery, type ShownMonths } from "../months.ts";
import { definePage, type BodyOf, type PageCall, type PageParameters, type View } from "../page.ts";
import { COHORT_STATE_NAMES, cohortStateOf, ROLLING_NAMES } from "../selection.ts";
import { noCompleteMonth } from "../views/coverage.ts";
import { barCsv, tableHref } from "../views/csv-link.ts";
import { filterBar, selectField, textField, windowField } from "../views/filters.ts";
import { dataTable, numbers } from "../views/blocks.ts";
import { FULL, place as coordinate } from "../charts/plot.ts";

const PATH = "/sale-events";
const TITLE = "Sale days";
const TABLE = "sale-days";
const PER_PAGE = 10;

type Report = ApiAnswer<BodyOf<"report">>;
/** `places`: where the events of this page are in the answer's list, newest first. */
type Events = {
  months: ShownMonths;
  list: Report;
  places: readonly number[];
  compared: readonly Report[];
  range: MonthQuery;
} | null;

const TAKES = [...COHORT_STATE_NAMES, "saleEventBaseline", "saleEventScope", "page", ...ROLLING_NAMES];

/** The store's sale events, each with its baseline; a single one is a section of the report. */
export const saleEvents = definePage<Events>({
  name: "sale-events",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: TAKES,
  data: async (call) => {
    const months = await monthsOf(call);
    const { range } = months;
    if (range === null) return null;
    const request = { ...state(call), ...range, reportSection: "refunds" };
    const list = await call.read("report", "report", request);
    const places = pageOf(list, call);
    const compared = await Promise.all(
      places.map((place, index) => {
        const saleEvent = list.body.data.sale_events[place]?.slug;
        return call.read(`sale_event_${index}`, "report", { ...request, saleEvent });
      }),
    );
    return { months, list, places, compared, range };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`${bar(call, data?.months ?? monthsOfRefused(call))}
      <h1>${TITLE}</h1>
      ${data === null ? noCompleteMonth(call) : eventList(data, call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`${bar(call, monthsOfRefused(call))}
      <h1>${TITLE}</h1>`,
  }),
});

function state({ query }: PageCall): PageParameters {
  const { saleEventBaseline, saleEventScope = "event_scope" } = query;
  return { ...cohortStateOf(query), saleEventBaseline, saleEventScope };
}

/** The API lists events by day; people look for the newest. */
function pageOf({ body }: Report, call: PageCall): number[] {
  const newestFirst = body.data.sale_events
    .map(({ starts_on }, place) => ({ starts_on, place }))
    .toSorted((left, right) => (left.starts_on < right.starts_on ? 1 : -1));
  const from = (pageNumber(call) - 1) * PER_PAGE;
  return newestFirst.slice(from, from + PER_PAGE).map(({ place }) => place);
}

/** An invalid number means the first page, as the API treats the state of a view. */
function pageNumber({ query }: PageCall): number {
  const number = Number(query["page"] ?? 1);
  return Number.isSafeInteger(number) && number > 0 ? number : 1;
}

const BASELINES = [
  ["matched_prior", "the days right before"],
  ["prior_year", "the same days a year before"],
  ["selected_non_sale", "days without a sale, in the months shown"],
] as const;
const SCOPES = [
  ["event_scope", "the SKUs of the event"],
  ["current_selection", "the whole selection"],
] as const;

function bar(call: PageCall, months: ShownMonths): Html {
  const { query } = call;
  const { saleEventBaseline: baseline = "matched_prior", saleEventScope: scope = "event_scope" } = query;
  return filterBar(call, PATH, {
    takes: TAKES,
    months,
    csv: barCsv(call, PATH, TABLE),
    filters: [
      selectField("saleEventBaseline", "Compared with", baseline, BASELINES),
      selectField("saleEventScope", "Counting", scope, SCOPES),
      windowField(query, call.primaryWindowDays),
      textField("vendor", "Vendor", query["vendor"]),
    ],
  });
}

const COLUMNS = [
  "Sale",
  ...numbers("Change"),
  { text: "Sale above, other days below", isDrawing: true },
  ...numbers("In the sale", "Other days", "Units returned", "Units sold"),
];

function eventList(data: Exclude<Events, null>, call: PageCall): Html {
  const total = data.list.body.data.sale_events.length;
  if (total === 0) {
    return html`<p class="lead">No sale days have been added yet.</p>
      <p>
        Add the days of a sale to compare its orders with those of other days: did the sale itself bring more
        returns?
      </p>
      ${settingsLink(call)}`;
  }
  const highest = Math.max(...data.compared.flatMap((answer) => sidesOf(answer).map(topOf)));
  const rows = data.places.map((place, index) =>
    eventRow(data, call, { place, answer: data.compared[index] as Report, highest }),
  );
  return html`<p class="lead">
      Did a sale bring more returns? Orders of its days are compared with those of other days. The difference is clear
      where the intervals of the two rates do not overlap.
    </p>
    ${
      rows.length > 0 &&
      dataTable("Sales, newest first; below each rate its likely range (95 % interval)", COLUMNS, rows, {
        id: TABLE,
        exportHref: tableHref(call, PATH),
      })
    }
    ${morePages(total, call)} ${settingsLink(call)}`;
}

/** To where the days and SKUs are entered. */
function settingsLink(call: PageCall): Html | null {
  if (!mayDo(call.role, addSaleEvent)) return null;
  return html`<p><a href="${call.href("/settings/sale-events")}">Add or change sale days</a></p>`;
}

function sidesOf({ body }: Report): readonly Rate[] {
  const event = body.data.sale_event;
  return event === null ? [] : [event.event, event.baseline_period];
}

function topOf({ return_rate, return_rate_interval: interval }: Rate): number {
  return interval?.high ?? return_rate;
}

type EventRow = { place: number; answer: Report; highest: number };

function eventRow(
  { list, range }: Exclude<Events, null>,
  call: PageCall,
  { place, answer, highest }: EventRow,
): Html[] {
  const event = list.body.data.sale_events[place];
  const { start_month: _first, end_month: _last, ...rolling } = state(call);
  const months = call.query["start_month"] === undefined ? {} : range;
  const href = call.href("/report", { ...rolling, ...months, saleEvent: event?.slug });
  const path = `sale_events/${place}`;
  const [own, other] = sidesOf(answer);
  return [
    html`<a class="name" href="${href}">${event?.label ?? ""}</a>
      <span class="detail"
        >${figure(list, `${path}/starts_on`, day)} to ${figure(list, `${path}/ends_on`, day)}</span
      >`,
    html`<strong>${figure(answer, "sale_event/return_rate_change", points, "nothing to compare")}</strong>
      ${own !== undefined && other !== undefined && verdict(own, other)}`,
    own !== undefined && other !== undefined ? intervalPair([own, other], highest) : html``,
    side(answer, "sale_event/event"),
    side(answer, "sale_event/baseline_period"),
    figure(answer, "sale_event/event/returned_units", count),
    soldFigure(answer, "sale_event/event", areFew(own?.sold_units ?? 0, call.minSoldUnits)),
  ];
}

function verdict(own: Rate, other: Rate): Html | null {
  if (own.return_rate_interval === null || other.return_rate_interval === null) return null;
  return html`<small>${differ(own, other) ? "intervals do not overlap" : "intervals overlap"}</small>`;
}

/** One side of the comparison; without a day that counts there is no rate, though the API has 0. */
function side(answer: Report, path: string): Html {
  const days = figure(answer, `${path}/days`, dayCount);
  if (valueAt(answer, `${path}/sold_units`) === 0) return html`– <small>nothing sold, ${days}</small>`;
  return html`${figure(answer, `${path}/return_rate`, percent)}
    <small>${intervalFigure(answer, `${path}/return_rate_interval`)} · ${days}</small>`;
}

function dayCount(value: number): string {
  if (value === 0) return "no day is complete yet";
  return value === 1 ? "1 day" : `${value} days`;
}

function morePages(total: number, call: PageCall): Html | null {
  const pages = Math.ceil(total / PER_PAGE);
  if (pages === 1) return null;
  const links = Array.from({ length: pages }, (_, index) => {
    const number = index + 1;
    const href = call.href(PATH, { ...call.query, page: number === 1 ? undefined : number });
    return html`<a href="${href}" ${number === pageNumber(call) && html` aria-current="page"`}>${number}</a>`;
  });
  return html`<nav class="pages" aria-label="Pages of the list">
    <span>${PER_PAGE} sales a page, the newest first:</span> ${links}
  </nav>`;
}

/**
 * Two rates with their intervals inside a table cell, the first above the second, on one axis from zero to `highest`. If they
 * overlap, the difference is not clear. A visual copy of the figures next to it.
 */
function intervalPair(rates: readonly [Rate, Rate], highest: number): Html {
  const x = (rate: number): string => coordinate((FULL * rate) / (highest || 1));
  return html`<svg class="intervals" aria-hidden="true">
    ${rates.map(({ return_rate, return_rate_interval: interval }, index) => {
      if (interval === null) return null;
      const y = index === 0 ? "28%" : "72%";
      return html`<line
          class="side-${index + 1}"
          x1="${x(interval.low)}"
          x2="${x(interval.high)}"
          y1="${y}"
          y2="${y}"
        /><circle class="side-${index + 1}" cx="${x(return_rate)}" cy="${y}" r="4.5" />`;
    })}
  </svg>`;
}

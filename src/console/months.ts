import { html, type Html } from "../lib/html.ts";
import { FIRST_MONTH, knownMonth, monthFromText, monthOfDate, monthToText } from "../lib/month.ts";
import { figure, valueAt, type ApiAnswer } from "./figure.ts";
import { month } from "./format.ts";
import type { BodyOf, PageCall, PageParameters } from "./page.ts";

/** The parameters of a range of cohort months. */
export type MonthQuery = { start_month: string; end_month: string };
/** With the flag where months are counted that are still open. */
export type ShownRange = MonthQuery & { include_incomplete?: "true" };

/** The answer with the newest months. */
export type NewestMonths = ApiAnswer<BodyOf<"return-rate-leaderboard">>;

/** Ranges that end with the newest complete month and roll: a page's own `period`. */
export const PERIODS = {
  month: "Last month",
  quarter: "Last 3 months",
  year: "Last 12 months",
  this_year: "This year",
  all: "All months",
} as const;
export type Period = keyof typeof PERIODS;

export type ShownMonths = {
  /** null = no month is complete. */
  range: ShownRange | null;
  /** The range that rolls; null = the query names its months. */
  period: Period | null;
  /** The answer with the newest months; null: the query names its months. */
  year: NewestMonths | null;
};

/** The name under which pages list the request that resolves the newest months. */
export const RESOLVING_REQUEST = "newest_year";

/** A page's own value of `include_incomplete`: the range extends to the newest month of the data. "true" leaves it unchanged. */
export const TO_NEWEST = "newest";

const MOST_MONTHS = 120;

/**
 * The months of a page: those of its query, else the newest complete ones of the primary window, which roll. With open months
 * they extend to the newest of the data, unless the query names them and says "true".
 */
export async function monthsOf(call: PageCall): Promise<ShownMonths> {
  const { include_incomplete: open } = call.query;
  const named = namedMonths(call);
  if (named !== null && open !== TO_NEWEST) return { range: named, period: null, year: null };
  const year = await readNewest(call);
  const period = periodOf(call);
  const range = named ?? (await rollingRange(call, year, period));
  const isExtended = range !== null && (open === TO_NEWEST || open === "true");
  return {
    range: isExtended ? withOpenMonths(range, year) : range,
    period: named === null ? period : null,
    year,
  };
}

/** The months that a query names; null = none. An empty field of the form names none. */
function namedMonths({ query }: PageCall): MonthQuery | null {
  const { start_month = "", end_month = "" } = query;
  return start_month === "" && end_month === "" ? null : { start_month, end_month };
}

/** An unknown period means the newest twelve months, as the API treats the state of a view. */
function periodOf({ query }: PageCall): Period {
  const given = query["period"] ?? "";
  return Object.hasOwn(PERIODS, given) ? (given as Period) : "year";
}

export function readNewest(call: PageCall): Promise<NewestMonths> {
  return call.read(RESOLVING_REQUEST, "return-rate-leaderboard", { period: "year", limit: 5 });
}

/** null = no month is complete. */
async function rollingRange(
  call: PageCall,
  { body: { meta } }: NewestMonths,
  period: Period,
): Promise<MonthQuery | null> {
  if (meta.start_month === undefined || meta.end_month === undefined) return null;
  const last = knownMonth(meta.end_month);
  const lengths = { month: 1, quarter: 3, year: 12, this_year: (last % 12) + 1, all: MOST_MONTHS };
  const range = {
    start_month: monthToText(Math.max(last - lengths[period] + 1, FIRST_MONTH)),
    end_month: meta.end_month,
  };
  if (period !== "all") return range;
  const { body } = await call.read("every_month", "timeseries", { ...range, window: call.query["window"] });
  const first = body.data.rows.find(({ sold_units: sold }) => sold > 0);
  return first === undefined
    ? range
    : { ...range, start_month: first.cohort_month.slice(0, "YYYY-MM".length) };
}

/** The range up to the month of the data, open months included. */
export function withOpenMonths(range: MonthQuery, { body }: NewestMonths): ShownRange {
  const newest = (body.meta.data_as_of ?? "").slice(0, "YYYY-MM".length);
  const end_month = newest > range.end_month ? newest : range.end_month;
  return { ...range, end_month, include_incomplete: "true" };
}

/** The months in the bar of a refused query. */
export function monthsOfRefused(call: PageCall): ShownMonths {
  const named = namedMonths(call);
  return { range: named, period: named === null ? periodOf(call) : null, year: null };
}

type State = PageParameters & MonthQuery;
type Report = ApiAnswer<BodyOf<"report">>;

/** Number of months of a chart with these rows: a minimum, so that a single one has context, and the maximum that fits. */
export const TREND_MONTHS = {
  month: { least: 12, most: MOST_MONTHS },
  week: { least: 6, most: 18 },
  day: { least: 2, most: 3 },
} as const;

/** The rows of a page's trend; the API refuses an unknown interval. */
export function intervalOf({ query }: PageCall): keyof typeof TREND_MONTHS {
  const { interval } = query;
  return interval === "week" || interval === "day" ? interval : "month";
}

/**
 * The months of a chart: the selected ones, at least as many as its rows need, for weeks and days only the newest, and the open
 * ones after the newest complete month.
 */
export function readTrend(call: PageCall, state: State, newest: NewestMonths): Promise<Report> {
  const { end_month, include_incomplete } = state;
  const rows = TREND_MONTHS[intervalOf(call)];
  const [first, last] = [monthFromText(state.start_month), monthFromText(end_month)];
  const least = Math.max(Math.min(first ?? 0, (last ?? 0) - rows.least + 1), FIRST_MONTH);
  // The API refuses anything but months.
  const start_month = first === null || last === null ? state.start_month : monthToText(least);
  const range = { start_month, end_month, include_incomplete };
  const isNewest = end_month >= (newest.body.meta.end_month ?? "");
  const months = isNewest && call.query["window"] !== "lifetime" ? withOpenMonths(range, newest) : range;
  const newestFirst = (monthFromText(months.end_month) ?? 0) - rows.most + 1;
  const from = first !== null && newestFirst > least ? monthToText(newestFirst) : start_month;
  const asked = { ...state, ...months, start_month: from, interval: call.query["interval"] };
  return call.read("trend", "report", { ...asked, reportSection: "trend" });
}

/**
 * The months that the page's tiles are compared with, as many as are counted: those of the report's own comparison, or the same a
 * year before; null: none.
 */
export async function readBefore(call: PageCall, state: State, { body }: Report): Promise<Report | null> {
  const { compare, window } = call.query;
  if (compare === "none" || window === "lifetime" || state["include_incomplete"] === "true") return null;
  const { summary, comparison } = body.data;
  const range = compare === "year" ? yearBefore(state, summary.complete_through) : (comparison ?? null);
  if (range === null) return null;
  const { start_month, end_month } = range;
  return call.read("before", "report", { ...state, start_month, end_month, reportSection: "trend" });
}

/** The refunds still to come for all months whose window may be open, whatever the page shows; null: no month is complete. */
export async function readLiability(
  call: PageCall,
  state: PageParameters,
  newest: NewestMonths,
): Promise<Report | null> {
  const { end_month } = newest.body.meta;
  if (end_month === undefined) return null;
  const start_month = monthToText(Math.max(knownMonth(end_month) - 12, FIRST_MONTH));
  const months = withOpenMonths({ start_month, end_month }, newest);
  return call.read("liability", "report", { ...state, ...months, reportSection: "liability" });
}

/**
 * The twelve months right before the newest complete one of a trend, the baseline of M25; null: none is complete, or it has no
 * sales.
 */
export async function readUsual(call: PageCall, state: State, trend: Report): Promise<Report | null> {
  const newest = trend.body.data.trend?.findLast(({ is_complete: isComplete }) => isComplete === true);
  if (newest === undefined || newest.sold_units === 0) return null;
  const last = monthOfDate(newest.cohort_month);
  const [start_month, end_month] = [last - 12, last - 1].map((each) => monthToText(each));
  return call.read("usual", "report", { ...state, start_month, end_month, reportSection: "costs" });
}

function yearBefore({ start_month, end_month }: State, completeThrough: string | null): MonthQuery | null {
  const last = completeThrough !== null && completeThrough < end_month ? completeThrough : end_month;
  const [from, to] = [knownMonth(start_month) - 12, knownMonth(last) - 12];
  return from < FIRST_MONTH || to < from
    ? null
    : { start_month: monthToText(from), end_month: monthToText(to) };
}

/** The months of an answer: "Oct 2025 to Sep 2026", or the one. */
export function monthRange(answer: ApiAnswer): Html {
  const end = figure(answer, "meta/end_month", month);
  const isOne = valueAt(answer, "meta/start_month") === valueAt(answer, "meta/end_month");
  return isOne ? end : html`${figure(answer, "meta/start_month", month)} to ${end}`;
}

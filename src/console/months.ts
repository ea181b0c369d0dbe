import type { ApiAnswer } from "./figure.ts";
import type { BodyOf, PageCall } from "./page.ts";

/** The parameters of a range of cohort months. */
export type MonthParameters = { start_month: string; end_month: string };
/** With the flag where months are counted that are still open. */
export type ShownRange = MonthParameters & { include_incomplete?: "true" };

type YearAnswer = ApiAnswer<BodyOf<"return-rate-leaderboard">>;

export type ShownMonths = {
  /** null = no month is complete. */
  range: ShownRange | null;
  /** Whether the query names them; otherwise they roll. */
  isPinned: boolean;
  /** The answer that resolved them, which also ranks the worst SKUs of the year; null = pinned. */
  year: YearAnswer | null;
};

/** The name under which pages list the request that resolves the newest months, where it is for nothing else. */
export const RESOLVING_REQUEST = "newest_year";

/** A page's own value of `include_incomplete`: the months go on to the newest of the data. "true" leaves them as they are. */
export const TO_NEWEST = "newest";

/**
 * The months that a page shows: those of its query, else the newest 12 complete ones of the primary window, which roll. With
 * open months they go on to the newest of the data, unless the query names them and says "true".
 */
export async function monthsOf(call: PageCall): Promise<ShownMonths> {
  const { start_month, end_month, include_incomplete: open } = call.query;
  const isPinned = start_month !== undefined || end_month !== undefined;
  const named = { start_month: start_month ?? "", end_month: end_month ?? "" };
  if (isPinned && open !== TO_NEWEST) return { range: named, isPinned, year: null };
  const { range: newest, year } = await newestMonths(call, RESOLVING_REQUEST);
  const range = isPinned ? named : newest;
  const isExtended = range !== null && (open === TO_NEWEST || open === "true");
  return { range: isExtended ? withOpenMonths(range, year) : range, isPinned, year };
}

/** The months that the form of a refused query shows: its own, else the newest. */
export async function monthsOfForm(call: PageCall): Promise<MonthParameters> {
  const { start_month, end_month } = call.query;
  const { range } =
    start_month === undefined && end_month === undefined
      ? await newestMonths(call, RESOLVING_REQUEST)
      : { range: null };
  return range ?? { start_month: start_month ?? "", end_month: end_month ?? "" };
}

/** The range up to the month of the data, open months included. */
export function withOpenMonths(range: MonthParameters, { body }: YearAnswer): ShownRange {
  const newest = (body.meta.data_as_of ?? "").slice(0, "YYYY-MM".length);
  const end_month = newest > range.end_month ? newest : range.end_month;
  return { ...range, end_month, include_incomplete: "true" };
}

/** The newest 12 complete months; `name` is the request that resolves them, listed like any other. */
export async function newestMonths(
  call: PageCall,
  name: string,
): Promise<ShownMonths & { isPinned: false; year: YearAnswer }> {
  const year = await call.read(name, "return-rate-leaderboard", { period: "year", limit: 5 });
  const { start_month: first, end_month: last } = year.body.meta;
  const range = first === undefined || last === undefined ? null : { start_month: first, end_month: last };
  return { range, isPinned: false, year };
}

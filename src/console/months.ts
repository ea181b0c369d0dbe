import type { ApiAnswer } from "./figure.ts";
import type { BodyOf, PageCall } from "./page.ts";

/** The parameters of a range of cohort months. */
export type MonthRange = { start_month: string; end_month: string };

type YearAnswer = ApiAnswer<BodyOf<"return-rate-leaderboard">>;

export type ShownMonths = {
  /** null = no month is complete. */
  range: MonthRange | null;
  /** Whether the query names them; otherwise they roll. */
  isPinned: boolean;
  /** The answer that resolved them, which also ranks the worst SKUs of the year; null = pinned. */
  year: YearAnswer | null;
};

/** The name under which pages list the request that resolves the newest months, where it is for nothing else. */
export const RESOLVING_REQUEST = "newest_year";

/** The months that a page shows: those of its query, else the newest 12 complete ones of the primary window, which roll. */
export async function monthsOf(call: PageCall): Promise<ShownMonths> {
  const { start_month, end_month } = call.query;
  if (start_month !== undefined || end_month !== undefined) {
    return {
      range: { start_month: start_month ?? "", end_month: end_month ?? "" },
      isPinned: true,
      year: null,
    };
  }
  return newestMonths(call, RESOLVING_REQUEST);
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

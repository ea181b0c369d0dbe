import { lastDayOf, monthBefore, monthOf } from "./calendar.ts";
import { total } from "./numbers.ts";
import type { MonthOutlook, OutlookLine } from "./outlook.ts";

/** A line with its one refund; money in minor units. */
export type RefundedLine = OutlookLine & { refund: { lag: number; minor: number } | null };
export type LiabilityQuestion = {
  asOfDay: number;
  windowDays: number;
  own: readonly RefundedLine[];
  category: readonly RefundedLine[];
  store: readonly RefundedLine[];
};
export type NaiveLiability = { units: number; minor: number; low: number; high: number };

/** A second implementation of M21, from the outlook of a month or of several together; null when nothing came back. */
export function liabilityRule(
  question: LiabilityQuestion,
): ((outlook: MonthOutlook) => NaiveLiability) | null {
  const { asOfDay, windowDays } = question;
  const six: string[] = [];
  for (let month = monthOf(asOfDay); six.length < 6; month = monthBefore(month)) {
    if (lastDayOf(month) + windowDays < asOfDay) six.push(month);
  }
  const monthsOf = (lines: readonly RefundedLine[]) =>
    six
      .map((month) => {
        const of = lines.filter(({ day }) => monthOf(day) === month);
        return {
          u: total(of, ({ back }) => total(back, ({ lag, units }) => (lag <= windowDays ? units : 0))),
          money: total(of, ({ refund }) => (refund !== null && refund.lag <= windowDays ? refund.minor : 0)),
        };
      })
      .filter(({ u, money }) => u > 0 || money > 0);
  const [own, category, store] = [question.own, question.category, question.store].map(monthsOf) as [
    Month[],
    Month[],
    Month[],
  ];
  const units = (months: Month[]): number => total(months, ({ u }) => u);
  const money = (months: Month[]): number => total(months, (month) => month.money);
  const group = units(category) >= 30 ? category : store;
  if (units(group) === 0) return null;
  const missing = Math.max(0, 30 - units(own));
  const n = units(own) + missing;
  const f = (money(own) + missing * (money(group) / units(group))) / n;
  const variance = (all: Month[]): number | null => {
    const months = all.filter(({ u }) => u > 0);
    const mean = money(months) / units(months);
    if (months.length < 3 || mean === 0) return null;
    return total(months, (month) => month.u * (month.money / month.u / mean - 1) ** 2) / (months.length - 1);
  };
  const c2 = (missing === 0 ? variance(own) : null) ?? variance(group) ?? 1;
  return ({ estimate, soFar, low, high }) => {
    const E = estimate - soFar;
    const byMoney = 1.2815515655446004 ** 2 * c2 * (f * f * E + (f * E) ** 2 / n);
    return {
      units: E,
      minor: f * E,
      low: Math.max(0, f * E - Math.sqrt((f * (estimate - low)) ** 2 + byMoney)),
      high: f * E + Math.sqrt((f * (high - estimate)) ** 2 + byMoney),
    };
  };
}

type Month = { u: number; money: number };

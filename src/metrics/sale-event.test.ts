import assert from "node:assert/strict";
import { test } from "node:test";
import { dayFromText, dayToText, monthFromText } from "../lib/month.ts";
import { baselinePeriod, countDays, nonSaleDays, spanOf, type DayRange } from "./sale-event.ts";

const range = (startsOn: string, endsOn: string): DayRange => ({
  startsOnDay: dayFromText(startsOn) as number,
  endsOnDay: dayFromText(endsOn) as number,
});
const textOf = (period: DayRange | null): string[] | null =>
  period === null ? null : [dayToText(period.startsOnDay), dayToText(period.endsOnDay)];
const months = (start: string, end: string): { startMonth: number; endMonth: number } => ({
  startMonth: monthFromText(start) as number,
  endMonth: monthFromText(end) as number,
});

test("M15: the matched prior period is as long and ends the day before; the prior year has the same days, or 28 February", () => {
  for (const [startsOn, endsOn, baseline, expected] of [
    ["2024-11-29", "2024-12-02", "matched_prior", ["2024-11-25", "2024-11-28"]],
    ["2024-03-01", "2024-03-01", "matched_prior", ["2024-02-29", "2024-02-29"]],
    ["2024-11-29", "2025-01-02", "prior_year", ["2023-11-29", "2024-01-02"]],
    ["2024-02-29", "2024-03-01", "prior_year", ["2023-02-28", "2023-03-01"]],
    ["2025-02-28", "2025-03-01", "prior_year", ["2024-02-28", "2024-03-01"]],
    ["2024-02-27", "2024-03-02", "prior_year", ["2023-02-27", "2023-03-02"]],
    ["2024-02-28", "2024-02-29", "prior_year", ["2023-02-28", "2023-02-28"]],
    ["0001-05-01", "0001-05-02", "prior_year", ["0001-05-01", "0001-05-02"]],
    // The days outside sale events are no single period.
    ["2024-11-29", "2024-12-02", "selected_non_sale", null],
  ] as const)
    assert.deepEqual(textOf(baselinePeriod(range(startsOn, endsOn), baseline)), expected, startsOn);
});

test("M15: a year before, 29 February is missing or more: the period is a day shorter or longer than the event", () => {
  const lengthsOf = (event: DayRange) =>
    [event, baselinePeriod(event, "prior_year")].map((period) => countDays(period === null ? [] : [period]));
  assert.deepEqual(lengthsOf(range("2024-02-27", "2024-03-02")), [5, 4]);
  assert.deepEqual(lengthsOf(range("2025-02-27", "2025-03-02")), [4, 5]);
});

test("M15: ranges span their first to their last day, none span nothing", () => {
  assert.deepEqual(textOf(spanOf([range("2024-01-02", "2024-01-03"), range("2024-02-01", "2024-02-05")])), [
    "2024-01-02",
    "2024-02-05",
  ]);
  assert.equal(spanOf([]), null);
});

test("M15: days in no sale event are the gaps between events, overlapping and touching ones too", () => {
  const events = [
    range("2024-02-10", "2024-02-12"),
    range("2024-01-30", "2024-02-02"),
    range("2024-02-11", "2024-02-14"),
    range("2024-02-15", "2024-02-16"),
    range("2023-12-20", "2024-01-01"),
    range("2024-02-28", "2024-03-05"),
  ];
  assert.deepEqual(nonSaleDays(months("2024-01", "2024-02"), events).map(textOf), [
    ["2024-01-02", "2024-01-29"],
    ["2024-02-03", "2024-02-09"],
    ["2024-02-17", "2024-02-27"],
  ]);
  assert.deepEqual(nonSaleDays(months("2024-02", "2024-02"), []).map(textOf), [["2024-02-01", "2024-02-29"]]);
  assert.deepEqual(nonSaleDays(months("2024-02", "2024-02"), [range("2024-01-01", "2024-12-31")]), []);
});

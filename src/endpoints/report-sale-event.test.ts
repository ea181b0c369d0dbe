import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dayFromText, dayToText } from "../lib/month.ts";
import { isDayComplete } from "../metrics/completeness.ts";
import { daysUntil, lastCompleteDay, monthDaysOf } from "./report-sale-event.ts";

test("M5: the days that count are exactly those whose window has closed", () => {
  const day = fc.integer({ min: -50, max: 50 });
  const range = fc
    .tuple(day, fc.nat(20))
    .map(([startsOnDay, length]) => ({ startsOnDay, endsOnDay: startsOnDay + length }));
  const windowDays = fc.option(fc.integer({ min: 1, max: 30 }));
  fc.assert(
    fc.property(fc.array(range), windowDays, fc.option(day), (ranges, window, asOfDay) => {
      const daysOf = (list: typeof ranges) =>
        list.flatMap(({ startsOnDay, endsOnDay }) =>
          Array.from({ length: endsOnDay - startsOnDay + 1 }, (_, offset) => startsOnDay + offset),
        );
      assert.deepEqual(
        daysOf(daysUntil(ranges, lastCompleteDay(window, asOfDay))),
        daysOf(ranges).filter((each) => isDayComplete(each, window, asOfDay)),
      );
    }),
  );
});

const day = (text: string) => dayFromText(text) ?? assert.fail();

test("a range is cut at the ends of months, and a whole month is known as one", () => {
  const pieces = monthDaysOf("event", [{ startsOnDay: day("2024-01-31"), endsOnDay: day("2024-03-01") }]);
  assert.deepEqual(
    pieces.map((piece) => [
      dayToText(piece.monthDay),
      dayToText(piece.startsOnDay),
      dayToText(piece.endsOnDay),
      piece.isWhole,
    ]),
    [
      ["2024-01-01", "2024-01-31", "2024-01-31", false],
      ["2024-02-01", "2024-02-01", "2024-02-29", true],
      ["2024-03-01", "2024-03-01", "2024-03-01", false],
    ],
  );
});

test("the pieces are the days of the ranges, each once", () => {
  const range = fc
    .tuple(fc.integer({ min: -800, max: 30_000 }), fc.nat(200))
    .map(([startsOnDay, days]) => ({ startsOnDay, endsOnDay: startsOnDay + days }));
  fc.assert(
    fc.property(range, (given) => {
      const pieces = monthDaysOf("baseline", [given]);
      assert.equal(pieces[0]?.startsOnDay, given.startsOnDay);
      assert.equal(pieces.at(-1)?.endsOnDay, given.endsOnDay);
      for (const [index, piece] of pieces.slice(1).entries()) {
        assert.equal(piece.startsOnDay, (pieces[index]?.endsOnDay ?? 0) + 1);
        assert.equal(piece.startsOnDay, piece.monthDay);
      }
    }),
  );
});

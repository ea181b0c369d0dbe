import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isDayComplete } from "../metrics/completeness.ts";
import { daysUntil, lastCompleteDay } from "./report-sale-event.ts";

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

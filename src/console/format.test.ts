import assert from "node:assert/strict";
import { test } from "node:test";
import {
  count,
  days,
  decimals,
  keyMoney,
  money,
  months,
  percent,
  points,
  units,
  wholePercent,
} from "./format.ts";

test("a rate other than 0 or 1 is never shown as 0 or 100 %", () => {
  assert.equal(percent(0.043217), "4.3 %");
  assert.equal(percent(0), "0.0 %");
  assert.equal(percent(1), "100.0 %");
  assert.equal(percent(0.0004), "< 0.1 %");
  assert.equal(percent(0.0006), "0.1 %");
  assert.equal(percent(0.9996), "> 99.9 %");
  assert.equal(percent(0.9994), "99.9 %");
});

test("a rate is rounded from its units, halves up; other fractions from their six decimals", () => {
  const rate = (returned_units: number, sold_units: number, return_rate: number) =>
    percent(return_rate, { return_rate, returned_units, sold_units });
  assert.equal(rate(23, 2000, 0.0115), "1.2 %");
  // Six decimals say 0.0115 of both.
  assert.equal(rate(229_999, 20_000_000, 0.0115), "1.1 %");
  assert.equal(rate(1, 10_000_000, 0), "< 0.1 %");
  assert.equal(rate(0, 0, 0), "0.0 %");
  assert.equal(percent(0.0115), "1.2 %");
  assert.equal(percent(0.0115, { low: 0.0115, returned_units: 1, sold_units: 2 }), "1.2 %");
  assert.deepEqual(
    [points(0.0005), points(-0.0005), points(0.2875)],
    ["+0.1 points", "−0.1 points", "+28.8 points"],
  );
  assert.equal(wholePercent(0.145), "15 %");
  assert.deepEqual([decimals(1)(2.65), decimals(2, "percent")(0.00015)], ["2.7", "0.02 %"]);
});

test("a difference that rounds to zero has no direction", () => {
  assert.equal(points(-0.0213), "−2.1 points");
  assert.equal(points(0.03), "+3.0 points");
  for (const none of [0, -0, 0.0004, -0.0004]) assert.equal(points(none), "±0.0 points");
});

test("amounts have the decimals of their currency, and a minus sign as differences have", () => {
  assert.equal(money("EUR")(1234.5), "€1,234.50");
  assert.equal(money("JPY")(123456), "¥123,456");
  assert.equal(money("HUF")(1234.5), "HUF\u00a01,234.50");
  assert.equal(money("KWD")(1.2345), "KWD\u00a01.235");
  assert.equal(money("EUR")(-12.5), "−€12.50");
  assert.equal(money("JPY")(-1200), "−¥1,200");
  assert.equal(money("EUR")(-0.001), "€0.00");
});

test("one of something is singular", () => {
  assert.deepEqual([days(1), days(2), units(1), units(1234)], ["1 day", "2 days", "1 unit", "1,234 units"]);
  assert.deepEqual([months(1), months(12), count(1234)], ["1 month", "12 months", "1,234"]);
});

test("a key figure has no decimals from ten thousand on", () => {
  const pounds = keyMoney("GBP");
  assert.equal(pounds(9_999.99), "£9,999.99");
  assert.equal(pounds(1_488_795.04), "£1,488,795");
  assert.equal(pounds(-12_345.6), "−£12,346");
  assert.equal(keyMoney("KWD")(2123.34), "KWD\u00a02,123.340");
});

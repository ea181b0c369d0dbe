import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { currencyExponent } from "../../../lib/currency.ts";
import { decimalText } from "../../../metrics/money.ts";
import { minorOf } from "./money.ts";
import { isTime, readCurrency, timeOf } from "./text.ts";

test("M9: every amount of money that comes as a JSON number is read exactly", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9_999_999_999 }),
      fc.constantFrom("EUR", "JPY", "KWD"),
      (minor, code) => {
        const number = JSON.parse(decimalText(minor, currencyExponent(code))) as number;
        assert.equal(minorOf(number, code), minor);
      },
    ),
  );
});

test("M9: decimals beyond the currency's are rounded, halves away from zero", () => {
  for (const [amount, code, minor] of [
    [4.355, "EUR", 436],
    [1.005, "EUR", 101],
    ["1.0049999", "EUR", 100],
    [9.995, "EUR", 1000],
    [450.5, "JPY", 451],
    ["7", "EUR", 700],
    ["1200.0", "JPY", 1200],
    ["-0.005", "EUR", -1],
    ["0.0049", "EUR", 0],
  ] as const) {
    assert.equal(minorOf(amount, code), minor, `${amount} ${code}`);
  }
});

test("exponents, text and numbers beyond the safe integers are not amounts", () => {
  for (const amount of [1e21, 1e-7, "1,00", "", "99999999999999999.00"]) {
    assert.throws(() => minorOf(amount, "EUR"), { name: "SourceFailed" }, JSON.stringify(amount));
  }
  assert.deepEqual(["usd", " eur ", "US", "$", ""].map(readCurrency), ["USD", "EUR", null, null, null]);
});

test("times without an offset are UTC", () => {
  assert.equal(timeOf("2026-01-10T12:00:00+02:00"), "2026-01-10T10:00:00.000Z");
  assert.equal(timeOf("2026-01-10 12:00:00"), "2026-01-10T12:00:00.000Z");
  assert.equal(timeOf("2026-01-10"), "2026-01-10T00:00:00.000Z");
  for (const text of ["soon", "0001-01-01T00:00:00Z", ""]) assert.ok(!isTime(text), text);
});

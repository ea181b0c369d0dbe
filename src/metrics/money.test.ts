import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { currencyExponent } from "../lib/currency.ts";
import {
  decimalFromMinor,
  decimalText,
  decimalFromText,
  minorFromDecimal,
  roundedMinor,
  minorFromNumber,
} from "./money.ts";
import type { Decimal } from "./money.ts";

const exponent = fc.constantFrom(0, 2, 3, 4);
const minor = fc.oneof(fc.integer({ min: -100_000, max: 100_000 }), fc.maxSafeInteger());

test("M9: currencies have the decimals of ISO 4217, in any case, and 2 when not listed", () => {
  assert.deepEqual(
    ["JPY", "USD", "EUR", "KWD", "CLF", "clp", "XXX"].map(currencyExponent),
    [0, 2, 2, 3, 4, 0, 2],
  );
});

test("M9: decimals are read exactly", () => {
  assert.equal(minorFromDecimal("19.99", 2), 1999);
  assert.equal(minorFromDecimal("-0.29", 2), -29);
  assert.equal(minorFromDecimal("+5", 2), 500);
  assert.equal(minorFromDecimal("1.5000", 2), 150);
  assert.equal(minorFromDecimal("100.0", 0), 100);
  assert.equal(minorFromDecimal("1.234", 3), 1234);
  assert.ok(Object.is(minorFromDecimal("-0.00", 2), 0));
  assert.equal(minorFromDecimal("90071992547409.91", 2), Number.MAX_SAFE_INTEGER);
});

test("M9: anything but a plain decimal of the currency is refused", () => {
  const broken = ["", " 1", "1 ", "1,00", "1e3", ".5", "5.", "1.2.3", "NaN", "--1", "0x10", "1.001", "９"];
  for (const text of broken) {
    assert.equal(minorFromDecimal(text, 2), null, JSON.stringify(text));
  }
  assert.equal(minorFromDecimal("1.5", 0), null);
  assert.equal(minorFromDecimal("90071992547409.92", 2), null);
  assert.equal(minorFromDecimal("9".repeat(400), 2), null);
});

test("M9: minor units are unchanged by conversion to text and back", () => {
  fc.assert(
    fc.property(minor, exponent, (amount, decimals) => {
      assert.equal(minorFromDecimal(decimalText(amount, decimals), decimals), amount + 0);
    }),
  );
});

test("M9: text has all decimals of the currency", () => {
  assert.equal(decimalText(5, 2), "0.05");
  assert.equal(decimalText(-5, 3), "-0.005");
  assert.equal(decimalText(123_456, 2), "1234.56");
  assert.equal(decimalText(7, 0), "7");
  assert.equal(decimalText(0, 2), "0.00");
});

test("M9: presented numbers are written as the decimal they are", () => {
  assert.equal(decimalFromMinor(1999, 2), 19.99);
  assert.equal(String(decimalFromMinor(1, 3)), "0.001");
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000_000_000 }), exponent, (amount, decimals) => {
      assert.equal(decimalFromMinor(amount, decimals).toFixed(decimals), decimalText(amount, decimals));
    }),
  );
});

test("M13: a threshold in a currency's units becomes minor units without float error", () => {
  assert.equal(minorFromNumber(1.1, 2), 110);
  assert.equal(minorFromNumber(0.29, 2), 29);
  assert.equal(minorFromNumber(0.005, 2), 0.5);
  assert.equal(minorFromNumber(1e-7, 2), 1e-5);
  assert.equal(minorFromNumber(1e21, 2), 1e23);
  assert.equal(minorFromNumber(12, 0), 12);
});

test("M9: a decimal of any scale is rounded from its text, halves away from zero", () => {
  const rounded = (text: string, decimals: number) =>
    roundedMinor(decimalFromText(text) as Decimal, decimals);
  for (const [text, decimals, expected] of [
    ["0.125", 2, 13],
    ["-0.125", 2, -13],
    ["0.1249999999999999999999", 2, 12],
    ["1.005", 2, 101],
    ["0.5", 0, 1],
    ["-1.5", 0, -2],
    ["2.5", 0, 3],
    ["1.2345", 3, 1235],
    ["7", 4, 70_000],
    ["12.340000000000001", 2, 1234],
  ] as const)
    assert.equal(rounded(text, decimals), expected, text);
  assert.equal(rounded("90071992547409.925", 2), null);
  assert.equal(decimalFromText("9".repeat(101)), null);
});

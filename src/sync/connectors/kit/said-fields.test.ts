import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { currencyExponent, decimalText } from "../../../metrics/money.ts";
import { SourceFailed } from "../../connector.ts";
import { readAmount, readCurrency, readFields } from "./said-fields.ts";

test("M9: every amount of money that comes as a JSON number is read exactly", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9_999_999_999 }),
      fc.constantFrom("EUR", "JPY", "KWD"),
      (minor, code) => {
        const number = JSON.parse(decimalText(minor, currencyExponent(code))) as number;
        assert.equal(readAmount(number, code), minor);
      },
    ),
  );
});

test("M9: decimals beyond the currency's are rounded half up", () => {
  for (const [amount, code, minor] of [
    [4.355, "EUR", 436],
    [1.005, "EUR", 101],
    ["1.0049999", "EUR", 100],
    [9.995, "EUR", 1000],
    [450.5, "JPY", 451],
    ["7", "EUR", 700],
  ] as const) {
    assert.equal(readAmount(amount, code), minor, `${amount} ${code}`);
  }
});

test("what is no amount is none: signs, exponents, text, beyond the safe integers", () => {
  for (const amount of [-1, "-1.00", 1e21, 1e-7, "1,00", "", null, true, {}, "99999999999999999.00"]) {
    assert.equal(readAmount(amount, "EUR"), null, JSON.stringify(amount));
  }
  assert.deepEqual(["usd", " eur ", "US", "$", ""].map(readCurrency), ["USD", "EUR", null, null, null]);
});

test("times without an offset are UTC; what is no time is a failure", () => {
  const time = (text: unknown) => readFields({ at: text }, "Source", "a label").time("at");
  assert.equal(time("2026-01-10T12:00:00+02:00"), "2026-01-10T10:00:00.000Z");
  assert.equal(time("2026-01-10 12:00:00"), "2026-01-10T12:00:00.000Z");
  assert.equal(time("2026-01-10"), "2026-01-10T00:00:00.000Z");
  for (const text of ["soon", "0001-01-01T00:00:00Z", 5, null]) assert.throws(() => time(text), SourceFailed);
});

test("a member of another type is a failure that names source, member and object", () => {
  const fields = readFields({ id: 7, name: "a\u0000b ", on: "yes", list: {} }, "Source", "a label");
  assert.equal(fields.id("id"), "7");
  assert.equal(fields.text("name"), "ab");
  for (const read of [
    () => fields.text("id"),
    () => fields.text("missing"),
    () => fields.flag("on"),
    () => fields.list("list"),
    () => fields.list("missing"),
    () => fields.count("name"),
    () => fields.optionalFields("name"),
  ]) {
    assert.throws(read, SourceFailed);
  }
  assert.deepEqual(fields.list("missing", true), []);
  assert.throws(
    () => fields.flag("on"),
    new SourceFailed("The answer of Source is not as documented: on of a label is no true or false."),
  );
});

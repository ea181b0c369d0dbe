import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseQueryString } from "./query-string.ts";

const valuesOf = (url: string) => Object.fromEntries(parseQueryString(url).values);

describe("a query string", () => {
  test("that is missing or empty has no value", () => {
    for (const url of ["/path", "/path?", "/path?&&&", ""])
      assert.equal(parseQueryString(url).values.size, 0);
  });

  test("is split at & and at the first =, and decoded", () => {
    assert.deepEqual(valuesOf("/p?a=1&b=x=y&c=%C3%A9&%64=e&f&g="), {
      a: "1",
      b: "x=y",
      c: "é",
      d: "e",
      f: "",
      g: "",
    });
  });

  test("writes a blank as + or %20, and a plus as %2B", () =>
    assert.deepEqual(valuesOf("/p?a=b+c&d=b%20c&e=b%2Bc"), { a: "b c", d: "b c", e: "b+c" }));

  test("keeps a second question mark and a semicolon as text", () => {
    assert.deepEqual(valuesOf("/p?a=b?c;d=e"), { a: "b?c;d=e" });
  });

  test("reports names given more than once, however they are spelled, and keeps the first value", () => {
    const { values, refusals } = parseQueryString("/p?a=1&a=2&%61=3&b=1&unknown&unknown");
    assert.equal(values.get("a"), "1");
    assert.deepEqual(
      [...refusals],
      [
        ["a", "a must be given once only."],
        ["unknown", "unknown must be given once only."],
      ],
    );
  });

  test("brings every text back that was encoded", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.string({ unit: "grapheme", minLength: 1 }),
        (value, name) => {
          const url = `/p?${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
          assert.equal(parseQueryString(url).values.get(name), value);
        },
      ),
    );
  });

  test("reports values that are no well-formed UTF-8 under their names", () => {
    const broken = ["%", "%z", "%zz", "%ED%A0%80", "%C0%AF", "%F5%80%80%80", "%FF", "%E2%82"];
    for (const value of broken) {
      const { refusals } = parseQueryString(`/p?a=1&start_month=${value}&start_month=2&b=2`);
      assert.deepEqual([...refusals], [["start_month", "start_month must be percent-encoded UTF-8."]], value);
    }
  });

  test("keeps names that are no well-formed UTF-8 as they were sent: no parameter has one", () => {
    const { values } = parseQueryString("/p?%FF=1&a=2&%zz=%zz");
    assert.deepEqual(
      [...values],
      [
        ["%FF", "1"],
        ["a", "2"],
        ["%zz", null],
      ],
    );
  });
});

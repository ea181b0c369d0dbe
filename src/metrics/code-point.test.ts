import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareCodePoints } from "./code-point.ts";
import { anyCharacter } from "../../tests/support/any-character.ts";

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom("a", "B", "é", "\u{ffff}", "\u{e000}", "😀", "\u{10ffff}"),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
  ),
  maxLength: 6,
});

test("texts are ordered as the bytes of their UTF-8", () => {
  fc.assert(
    fc.property(text, text, (left, right) => {
      const expected = Buffer.compare(Buffer.from(left, "utf8"), Buffer.from(right, "utf8"));
      assert.equal(Math.sign(compareCodePoints(left, right)), expected);
    }),
    { numRuns: 2000 },
  );
});

test("characters beyond U+FFFF come after U+FFFF, unlike in UTF-16 order", () => {
  const texts = ["\u{ffff}", "😀", "\u{e000}"];
  assert.deepEqual(texts.toSorted(), ["😀", "\u{e000}", "\u{ffff}"]);
  assert.deepEqual(texts.toSorted(compareCodePoints), ["\u{e000}", "\u{ffff}", "😀"]);
});

test("capitals come before small letters, and a prefix before what it begins", () =>
  assert.deepEqual(["b", "a-1", "B", "a"].toSorted(compareCodePoints), ["B", "a", "a-1", "b"]));

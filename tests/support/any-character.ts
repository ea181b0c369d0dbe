import assert from "node:assert/strict";
import fc from "fast-check";

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;

/** Any character of Unicode, as a unit of texts. fast-check's own unit, "binary", takes 1.6 s of processor time in each process that uses it. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < SURROGATES_FROM ? index : index + SURROGATES),
  (text) => {
    const point = String(text).codePointAt(0) ?? -1;
    assert.ok(point >= 0 && String.fromCodePoint(point) === text);
    return point < SURROGATES_FROM ? point : point - SURROGATES;
  },
);

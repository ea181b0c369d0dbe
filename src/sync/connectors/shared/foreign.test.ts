import assert from "node:assert/strict";
import { test } from "node:test";
import Type from "typebox";
import { SourceFailed } from "../../connector.ts";
import {
  Amount,
  choice,
  Currency,
  Flag,
  Id,
  nullable,
  object,
  optional,
  reader,
  Text,
  Time,
  Whole,
  UnreadableAnswer,
} from "./foreign.ts";

const LABEL = object("Label", {
  id: Id,
  on: nullable(Flag),
  at: optional(Time),
  rate: optional(Amount),
  currency: optional(Currency),
  status: nullable(choice(["open", "closed"])),
  parts: nullable(Type.Array(object("Part", { count: Whole, name: Text }))),
});
const read = reader("Source", LABEL);

/** The sentence of the anomaly that one change of a label is. */
function sentenceOf(change: object): string {
  try {
    read({ id: 7, ...change });
  } catch (error) {
    assert.ok(error instanceof UnreadableAnswer && error instanceof SourceFailed);
    return error.message.replace("Source's answer about 7 cannot be read: ", "");
  }
  return "read";
}

test("unknown members, and optional ones that are null, '' or absent, are not anomalies", () => {
  const label = { id: "l", unknown: [1], on: null, at: "", rate: null, status: undefined };
  assert.equal(read(label), label);
  for (const at of ["2026-01-10T12:00:00+02:00", "2026-01-10 12:00:00", "2026-01-10"]) {
    assert.equal(sentenceOf({ at }), "read");
  }
});

test("an anomaly names the field, what is expected and what there is, and quotes no text but a status", () => {
  for (const [change, sentence] of [
    [{ on: "yes" }, "Label.on should be true or false or null, and is text."],
    [{ at: "soon" }, "Label.at should be a time or null, and is text."],
    [{ at: "0001-01-01T00:00:00Z" }, "Label.at should be a time or null, and is text."],
    [{ at: 5 }, "Label.at should be a time or null, and is 5."],
    [{ status: "lost" }, 'Label.status should be one of open, closed or null, and is "lost".'],
    [{ parts: {} }, "Label.parts should be a list or null, and is an object."],
    [{ parts: [null] }, "Label.parts should be an object, and is null."],
    [
      { parts: [{ count: 1, name: "a" }, { name: "a" }] },
      "Part.count should be a whole number, and is missing.",
    ],
    [{ parts: [{ count: -1.5, name: "a" }] }, "Part.count should be a whole number, and is -1.5."],
    [{ currency: "dollars" }, "Label.currency should be a currency or null, and is text."],
  ] as const) {
    assert.equal(sentenceOf(change), sentence);
  }
  assert.throws(() => read(null), /^UnreadableAnswer|it should be an object, and is null\.$/u);
  assert.throws(() => read({ id: "" }), SourceFailed);
  assert.throws(
    () => read({}),
    /Source's answer cannot be read: Label\.id should be text, and is missing\.$/u,
  );
});

test("an amount has no sign and no exponent", () => {
  for (const rate of [0, 7.85, "7.85", "785"]) assert.equal(sentenceOf({ rate }), "read");
  for (const rate of [-1, "-1.00", 1e21, 1e-7, "1,00", true, {}]) {
    assert.match(sentenceOf({ rate }), /^Label\.rate should be an amount of money or null, and is /u);
  }
});

test("an anomaly in a line of a bulk file names the line and its parent", () => {
  const refused = () => read({ id: "l", __parentId: "o", on: 1 });
  assert.throws(refused, /^UnreadableAnswer|about l of o cannot be read: Label\.on/u);
  assert.throws(refused, (error) => {
    assert.ok(error instanceof UnreadableAnswer);
    const expected = "true or false or null";
    assert.deepEqual(error.anomaly, { field: "Label.on", expected, found: "1" });
    return true;
  });
});

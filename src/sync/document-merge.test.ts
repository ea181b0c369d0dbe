import assert from "node:assert/strict";
import { test } from "node:test";
import type { DocumentLine, DocumentRefund } from "../metrics/order.ts";
import { countUnknown, mergeDocument, replaceDocument, ROW_KINDS } from "./document-merge.ts";
import { ROW_DEFAULTS } from "./stored-document.ts";

const line = (lineId: string, units = 1): DocumentLine => ({
  ...ROW_DEFAULTS.lines,
  lineId,
  orderedAt: "2026-01-05T10:00:00.000Z",
  sku: "A",
  units,
});

const refund = (refundId: string, lineId: string): DocumentRefund => ({
  refundId,
  lineId,
  refundedAt: "2026-01-06T10:00:00.000Z",
  units: 1,
  subtotalMinor: 100,
  restockType: "RETURN",
  returnId: null,
});

const part = (lines: DocumentLine[], refunds: DocumentRefund[] = []) => ({ lines, returns: [], refunds });

test("the rows of a new order are sorted by their keys", () => {
  const document = mergeDocument(null, "o1", part([line("b"), line("a")]));
  assert.deepEqual(
    document?.lines.map(({ lineId }) => lineId),
    ["a", "b"],
  );
});

test("rows that are known already change nothing, whatever order their members are in", () => {
  const stored = mergeDocument(null, "o1", part([line("a")], [refund("f", "a")]));
  const reversed = Object.fromEntries(Object.entries(line("a")).toReversed()) as unknown as DocumentLine;
  assert.equal(mergeDocument(stored, "o1", part([reversed], [refund("f", "a")])), null);
  assert.equal(mergeDocument(stored, "o1", part([])), null);
});

test("a row replaces the one of its key and leaves the others", () => {
  const stored = mergeDocument(null, "o1", part([line("a"), line("b")], [refund("f", "a")]));
  const merged = mergeDocument(stored, "o1", part([line("b", 5)], [refund("f", "b")]));
  assert.deepEqual(
    merged?.lines.map(({ lineId, units }) => [lineId, units]),
    [
      ["a", 1],
      ["b", 5],
    ],
  );
  assert.deepEqual(
    merged?.refunds.map(({ refundId, lineId }) => [refundId, lineId]),
    [
      ["f", "a"],
      ["f", "b"],
    ],
  );
});

const sold = { ...line("a"), productId: "p1", variantId: "v1" };

test("a line keeps the product and variant that its source has deleted since", () => {
  const stored = replaceDocument(null, "o1", part([sold]));
  const gone = { ...sold, productId: null, variantId: null };
  assert.equal(replaceDocument(stored, "o1", part([gone])), null);
  assert.equal(replaceDocument(stored, "o1", part([{ ...sold, variantId: null }])), null);
  const [kept] = replaceDocument(stored, "o1", part([{ ...gone, units: 2 }]))?.lines ?? [];
  assert.deepEqual([kept?.productId, kept?.variantId, kept?.units], ["p1", "v1", 2]);
});

test("a line that is of another product now does not keep the old one's variant", () => {
  const stored = replaceDocument(null, "o1", part([sold]));
  const [moved] =
    replaceDocument(stored, "o1", part([{ ...sold, productId: "p2", variantId: null }]))?.lines ?? [];
  assert.deepEqual([moved?.productId, moved?.variantId], ["p2", null]);
});

test("for a source that sends whole orders, omitted rows are removed", () => {
  const stored = replaceDocument(null, "o1", part([sold, line("b")], [refund("f", "a")]));
  const left = replaceDocument(stored, "o1", part([sold]));
  assert.deepEqual([left?.lines, left?.refunds], [[sold], []]);
  assert.deepEqual(replaceDocument(stored, "o1", part([]))?.lines, []);
});

test("a removed line takes its returns and refunds; what was not stored changes nothing", () => {
  const stored = mergeDocument(
    null,
    "o1",
    part([line("a"), line("b")], [refund("f", "a"), refund("g", "b")]),
  );
  const removed = { lines: [{ lineId: "a" }], returns: [], refunds: [{ refundId: "g", lineId: "b" }] };
  const merged = mergeDocument(stored, "o1", { ...part([]), removed });
  assert.deepEqual([merged?.lines.map(({ lineId }) => lineId), merged?.refunds], [["b"], []]);
  assert.equal(mergeDocument(merged, "o1", { ...part([]), removed }), null);
  assert.equal(mergeDocument(null, "o1", { ...part([]), removed }), null);
  assert.deepEqual(
    ROW_KINDS.map((kind) => countUnknown(merged, kind, removed[kind])),
    [1, 0, 1],
  );
});

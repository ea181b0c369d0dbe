import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { extendHead, isSettled, settle, UNSETTLED } from "./list-head.ts";

const LIST = Array.from({ length: 300 }, (_, index) => `se-${index}|completed`);

test("an unchanged list is settled at once, a list of other labels never", () => {
  assert.ok(isSettled(settle(UNSETTLED, LIST.slice(0, 50), LIST)));
  assert.ok(!isSettled(settle(UNSETTLED, LIST.slice(0, 49), LIST)));
  const others = LIST.map((entry) => entry.replace("completed", "voided"));
  assert.ok(!isSettled(settle(UNSETTLED, others, LIST)));
});

test("a list read in pages settles where it would as one, and never before the last label that moved", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(299), { maxLength: 30 }),
      fc.integer({ min: 1, max: 120 }),
      (moved, pageSize) => {
        const changed = moved.map((place) => `se-${place}|voided`);
        const list = [...changed, ...LIST.filter((_, place) => !moved.includes(place))];
        let settling = UNSETTLED;
        let read = 0;
        for (; read < list.length && !isSettled(settling); read += pageSize) {
          settling = settle(settling, list.slice(read, read + pageSize), LIST);
        }
        assert.ok(isSettled(settling));
        assert.ok(read >= moved.length + 50 && read < moved.length + 50 + pageSize);
      },
    ),
  );
});

test("labels that moved without a visible change do not settle a list by themselves", () => {
  const untouched = LIST.filter((_, place) => place % 5 !== 0);
  const list = [...LIST.filter((_, place) => place % 5 === 0).toReversed(), ...untouched];
  assert.ok(!isSettled(settle(UNSETTLED, list.slice(0, 60), LIST)));
  assert.ok(isSettled(settle(UNSETTLED, list.slice(0, 110), LIST)));
});

test("a head keeps the first place of a label, and no more than it needs", () => {
  assert.deepEqual(extendHead(["a|1", "b|1"], ["b|2", "c|1", "c|2"]), ["a|1", "b|1", "c|1"]);
  const many = Array.from({ length: 1500 }, (_, index) => `se-${index}|1`);
  assert.equal(extendHead([], many).length, 1000);
});

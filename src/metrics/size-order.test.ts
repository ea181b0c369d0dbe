import assert from "node:assert/strict";
import { test } from "node:test";
import { compareSizes, sizePlace } from "./size-order.ts";

test("M22: sizes are in ascending order, however they are written", () => {
  for (const inOrder of [
    ["XXXS", "2XS", "XS", "S", "S/M", "m", "L", "X-Large", "XXL", "3XL", "10"],
    ["26", "28/30", "28/32", "30", "30/30", "36"],
    ["EU 36", "EU 36.5", "EU 37", "EU 37 1/2", "EU 38", "EU 38½", "EU 39,5", "UK 3", "UK 10", "US 4"],
    ["W28 L30", "W30 L30"],
    ["S", "Double", "King"],
  ]) {
    const shuffled = inOrder.toReversed();
    const sizes = inOrder.filter((value) => sizePlace(value) !== null);
    const others = shuffled.filter((value) => sizePlace(value) === null);
    assert.deepEqual(shuffled.toSorted(compareSizes), [...sizes, ...others], inOrder.join(" "));
  }
});

test("M22: a value that is not a size has no place", () => {
  const others = ["", "/", "Red", "One size", "XM", "12 kg", "EU 38 UK", "1234", "٣"];
  for (const value of [...others, `${"x".repeat(5000)}l`]) {
    assert.equal(sizePlace(value), null, value.slice(0, 20));
  }
  assert.deepEqual(sizePlace("EU 38.5"), { system: "#eu", first: 38.5, second: 0 });
});

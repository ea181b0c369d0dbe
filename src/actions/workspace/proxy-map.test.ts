import assert from "node:assert/strict";
import { test } from "node:test";
import { shopKeyDigits } from "../../access/token.ts";
import { prefixPatterns } from "./proxy-map.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const RANGES: readonly [first: number, last: number][] = [
  [1, 1],
  [1, MOST],
  [62 ** 5, 2 * 62 ** 5 - 1],
  [1_000_000, 1_999_999],
  [61, 62],
  [MOST - 3, MOST],
];

test("a map of a range takes its keys and no others", () => {
  for (const [first, last] of RANGES) {
    const patterns = prefixPatterns(shopKeyDigits(first), shopKeyDigits(last)).map(
      (each) => new RegExp(`^${each}`, "u"),
    );
    const middle = Math.floor(first / 2 + last / 2);
    const near = [first, last, middle, 62, 63, 62 ** 5, 62 ** 5 - 1].flatMap((key) => [
      key - 62,
      key - 1,
      key,
      key + 1,
      key + 62,
    ]);
    for (const key of near.filter((each) => each > 0 && each <= MOST)) {
      const matches = patterns.some((pattern) => pattern.test(shopKeyDigits(key)));
      assert.equal(matches, key >= first && key <= last, `${key} in ${first} to ${last}`);
    }
  }
});

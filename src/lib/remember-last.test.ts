import assert from "node:assert/strict";
import { test } from "node:test";
import { rememberLast } from "./remember-last.ts";

test("the last result is given again for the same argument only", () => {
  const made: unknown[] = [];
  const remembered = rememberLast((argument: object | undefined) => {
    made.push(argument);
    return made.length;
  });
  const [one, other] = [{}, {}];
  assert.deepEqual(
    [one, one, other, one, undefined, undefined].map((argument) => remembered(argument)),
    [1, 1, 2, 3, 4, 4],
  );
});

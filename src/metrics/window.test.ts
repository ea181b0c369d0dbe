import assert from "node:assert/strict";
import { test } from "node:test";
import { isInside, OBSERVATION_WINDOWS, windowDays } from "./window.ts";

test("M4: the primary window has the workspace's length, the others their own", () => {
  assert.deepEqual(
    OBSERVATION_WINDOWS.map((window) => windowDays(window, 45)),
    [45, 30, 90, null],
  );
});

test("M4: the last day of a window is inside, the next one is not", () => {
  assert.equal(isInside(30, 30), true);
  assert.equal(isInside(31, 30), false);
  assert.equal(isInside(0, 1), true);
});

test("M4: everything is inside lifetime", () => {
  assert.equal(isInside(100_000, null), true);
});

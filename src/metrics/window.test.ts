import assert from "node:assert/strict";
import { test } from "node:test";
import { windowDays } from "./window.ts";

test("M4: the primary window has the workspace's length, the others their own", () => {
  const windows = ["primary", "30d", "90d", "lifetime"] as const;
  assert.deepEqual(
    windows.map((window) => windowDays(window, 45)),
    [45, 30, 90, null],
  );
});

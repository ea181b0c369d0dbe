import assert from "node:assert/strict";
import { test } from "node:test";
import { ReturnsNetworkError } from "./errors.ts";
import { retryWaitMs } from "./retry.ts";

const POLICY = { maxRetries: 6, maxRetryWaitMs: 3000, retryBaseMs: 500 };
const FAILURE = new ReturnsNetworkError("cut off", "connection");

test("Pauses are random from zero up to a doubling bound, limited by the longest pause", () => {
  const boundsMs = [500, 1000, 2000, 3000, 3000, 3000];
  for (const [retriesMade, boundMs] of boundsMs.entries()) {
    assert.equal(
      retryWaitMs(FAILURE, retriesMade, POLICY, () => 0),
      0,
    );
    assert.equal(
      retryWaitMs(FAILURE, retriesMade, POLICY, () => 1),
      boundMs,
    );
  }
  assert.equal(retryWaitMs(FAILURE, 6, POLICY), null);
});

test("An error that is not a failure of the service or the network is final", () => {
  assert.equal(retryWaitMs(new TypeError("a mistake"), 0, POLICY), null);
  assert.equal(retryWaitMs(new ReturnsNetworkError("another service", "unreadable_answer"), 0, POLICY), null);
});

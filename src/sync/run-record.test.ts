import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceFailed, SourceRefused } from "./connector.ts";
import { describeEnd } from "./run-record.ts";
import { retryDelayMs } from "./runs.ts";

const RUN = "019a0000-0000-7000-8000-000000000000";
const ended = (error: unknown, isStopped = false) => {
  const { status, isRefused, error: sentence, cause } = describeEnd({ error, isStopped }, RUN);
  return { status, isRefused, sentence, isFault: cause !== null };
};
const databaseError = (code: string) => Object.assign(new Error("terminating connection"), { code });

test("a source's error is reported unchanged; an internal one without its details", () => {
  assert.deepEqual(ended(new SourceRefused("Connect it again.")), {
    status: "failed",
    isRefused: true,
    sentence: "Connect it again.",
    isFault: false,
  });
  assert.deepEqual(ended(new SourceFailed("It answered 503.")), {
    status: "failed",
    isRefused: false,
    sentence: "It answered 503.",
    isFault: false,
  });
  const ours = ended(new TypeError("token shpat_1 of undefined"));
  assert.deepEqual([ours.status, ours.isRefused, ours.isFault], ["failed", false, true]);
  assert.doesNotMatch(ours.sentence ?? "", /shpat|undefined/u);
  assert.match(ours.sentence ?? "", new RegExp(RUN, "u"));
});

test("a run that was stopped, or lost the database, is interrupted, not a failure of its source", () => {
  assert.deepEqual(ended(new SourceFailed("The request was aborted."), true), {
    status: "interrupted",
    isRefused: false,
    sentence: null,
    isFault: false,
  });
  const lost = [
    databaseError("57P01"),
    databaseError("08006"),
    databaseError("ECONNREFUSED"),
    new Error("Connection terminated unexpectedly"),
    new Error("timeout exceeded when trying to connect"),
    Object.assign(new Error("failed to complete COPY on 10.0.0.3:5432"), { code: "58030" }),
  ];
  for (const error of lost) assert.equal(ended(error).status, "interrupted", error.message);
  for (const code of ["23505", "57014", "22P02"]) assert.equal(ended(databaseError(code)).status, "failed");
});

test("each failure doubles the wait, a quarter more or less, up to 15 minutes", () => {
  const waits = [0, 1, 2, 5, 6, 100].map((failures) => retryDelayMs(15_000, failures, 0.5));
  assert.deepEqual(waits, [15_000, 30_000, 60_000, 480_000, 900_000, 900_000]);
  assert.deepEqual([retryDelayMs(15_000, 0, 0), retryDelayMs(15_000, 0, 1)], [11_250, 18_750]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { CommanderError } from "commander";
import { ReturnsApiError } from "../client/errors.ts";
import type { ErrorCode } from "../contract/errors.ts";
import { ConfigError } from "../config.ts";
import { impossible, invalid } from "../actions/refusal.ts";
import { describeFailure } from "./failure.ts";

test("an invalid command line exits with 2, a failure with 1", () => {
  const usage = new CommanderError(1, "commander.unknownOption", "error: unknown option '--x'");
  assert.deepEqual(describeFailure(usage), {
    message: "Unknown option '--x'.",
    exitCode: 2,
    isUnexpected: false,
  });
  assert.equal(describeFailure(new ConfigError(["PORT must be a number."])).exitCode, 2);
  assert.equal(describeFailure(invalid("No.")).exitCode, 2);
  assert.equal(describeFailure(impossible("No.")).exitCode, 1);
});

test("a database that is away is one sentence that says what to check", () => {
  const refused = Object.assign(new AggregateError([new Error("connect ECONNREFUSED ::1:5432")]), {
    code: "ECONNREFUSED",
  });
  assert.deepEqual(describeFailure(refused), {
    message:
      "The database does not answer (connect ECONNREFUSED ::1:5432): check DATABASE_URL or, without it, the file postgresql/server.log in the data folder.",
    exitCode: 1,
    isUnexpected: false,
  });
});

test("a connection that takes too long is one that does not answer", () => {
  const { message } = describeFailure(new Error("Connection terminated due to connection timeout"));
  assert.match(
    message,
    /^The database does not answer \(Connection terminated due to connection timeout\): /u,
  );
});

test("a full disk of the database is one sentence that says what to do", () => {
  const full = Object.assign(new Error('could not extend file "base/1/2": No space left on device'), {
    code: "53100",
  });
  assert.deepEqual(describeFailure(full), {
    message:
      'The database\'s disk is full (could not extend file "base/1/2": No space left on device): free space on its ' +
      "machine and try again.",
    exitCode: 1,
    isUnexpected: false,
  });
});

test("a refusal by the API keeps its code, status and request id; only a fault's id is for people", () => {
  const failureOf = (code: ErrorCode, status: number, requestId: string | null) =>
    describeFailure(
      new ReturnsApiError("No.", { code, status, requestId, retryAfterSeconds: null, quota: null }),
    );
  assert.deepEqual(failureOf("invalid_request", 400, "request-1"), {
    message: "No.",
    exitCode: 2,
    isUnexpected: false,
    apiError: { code: "invalid_request", message: "No.", status: 400, request_id: "request-1" },
  });
  assert.deepEqual(failureOf("internal_error", 500, "request-2"), {
    message: "No. (request id request-2)",
    exitCode: 1,
    isUnexpected: false,
    apiError: { code: "internal_error", message: "No.", status: 500, request_id: "request-2" },
  });
  const unknown = failureOf("internal_error", 502, null);
  assert.deepEqual([unknown.message, unknown.apiError?.request_id], ["No.", null]);
});

test("any other error is reported as unexpected, with its message", () => {
  assert.deepEqual(describeFailure(new TypeError("odd")), {
    message: "odd",
    exitCode: 1,
    isUnexpected: true,
  });
});

import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { requestId } from "./headers.ts";

const withId = (id: string | undefined) =>
  ({ headers: { "x-request-id": id } }) as unknown as IncomingMessage;

test("a request id of 1 to 128 plain characters is kept, any other is replaced", () => {
  for (const id of ["a", "a.b_c:d-E9", "x".repeat(128)]) assert.equal(requestId(withId(id)), id);
  for (const id of [undefined, "", "x".repeat(129), "a b", "a\n", "ä", "a/b"]) {
    assert.match(requestId(withId(id)), /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { redactText } from "./service-logger.ts";

test("a token in any text is cut down to its id", () => {
  const token = `rta_live_0000000000142MPX${"s".repeat(43)}${"c".repeat(6)}`;
  assert.equal(redactText(`"said ${token}."`), '"said rta_live_0000000000142MPX[redacted]."');
});

test("a database address loses its password and keeps the rest", () => {
  const line = '{"url":"postgresql://returns:s3cr3t@db.example:5432/returns"}';
  assert.equal(redactText(line), '{"url":"postgresql://returns:[redacted]@db.example:5432/returns"}');
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenNotice } from "./token-notice.ts";

const EXPIRES = new Date("2026-11-22T12:00:00Z");
const before = (days: number): Date => new Date(EXPIRES.getTime() - days * 86_400_000);
const token = {
  token_id: "0000000000700001",
  name: "weekly report",
  created_at: before(90),
  expires_at: EXPIRES,
};

test("notices of a token come 14 and 3 days before its end, and not before or after", () => {
  assert.equal(tokenNotice(token, before(14.01)), null);
  const [first, second] = [tokenNotice(token, before(14)), tokenNotice(token, before(3))];
  assert.deepEqual(
    [first?.severity, first?.title],
    ["warning", "The token weekly report expires in 14 days"],
  );
  assert.equal(
    first?.body,
    "Requests with it are refused from 2026-11-22 12:00 UTC on. Replace it, and give the new token to the programs that use it.",
  );
  assert.equal(first.linkPath, "/settings/tokens/0000000000700001");
  assert.deepEqual(
    [second?.severity, second?.title],
    ["critical", "The token weekly report expires in 3 days"],
  );
  assert.equal(tokenNotice(token, before(0.5))?.title, "The token weekly report expires within a day");
  assert.equal(tokenNotice(token, EXPIRES), null);
});

test("each stage is one event, however often it is evaluated", () => {
  const events = [14, 9, 3.5, 3, 1].map((days) => tokenNotice(token, before(days))?.event);
  assert.equal(new Set(events.slice(0, 3)).size, 1);
  assert.equal(new Set(events.slice(3)).size, 1);
  assert.notEqual(events[0], events[4]);
});

test("a token created for a few days raises no notice", () => {
  assert.equal(tokenNotice({ ...token, created_at: before(2) }, before(1)), null);
  assert.equal(tokenNotice({ ...token, created_at: before(10) }, before(9)), null);
  assert.equal(tokenNotice({ ...token, created_at: before(10) }, before(3))?.severity, "critical");
});

test("a name that would break the line stays on it", () => {
  const title = tokenNotice({ ...token, name: "one\u2028two\u202e" }, before(3))?.title;
  assert.equal(title, "The token one two expires in 3 days");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { UsedTokenRow } from "./queries.ts";
import { attend, sortByAttention } from "./attention.ts";

const NOW = new Date("2026-11-22T12:00:00Z");
const inDays = (days: number): Date => new Date(NOW.getTime() + days * 86_400_000);

const token = (name: string, change: Partial<UsedTokenRow> = {}): UsedTokenRow => ({
  token_id: name,
  name,
  scopes: ["read:alerts"],
  created_by: "operator",
  created_at: inDays(-10),
  expires_at: null,
  revoked_at: null,
  last_used_at: inDays(-1),
  replaces: null,
  maker_name: null,
  replaced_by: null,
  replaced_at: null,
  requests: 0,
  app_redirect_uri: null,
  ...change,
});

test("what needs somebody comes first, the rest by name", () => {
  const tokens = [
    token("zebra"),
    token("apple"),
    token("idle", { created_at: inDays(-200), last_used_at: inDays(-90) }),
    token("never used", { created_at: inDays(-90), last_used_at: null }),
    token("young", { created_at: inDays(-89), last_used_at: null }),
    token("soon", { expires_at: inDays(9) }),
    token("in time", { expires_at: inDays(15) }),
    token("just expired", { expires_at: inDays(-2) }),
  ];
  assert.deepEqual(
    sortByAttention(tokens.map((each) => attend(each, NOW))).map((each) => [each.name, each.attention]),
    [
      ["just expired", "expired"],
      ["soon", "expiring"],
      ["idle", "unused"],
      ["never used", "unused"],
      ["apple", null],
      ["in time", null],
      ["young", null],
      ["zebra", null],
    ],
  );
});

test("a token that was revoked, replaced and expired, or expired long ago is over", () => {
  const is_over = (change: Partial<UsedTokenRow>): boolean => attend(token("one", change), NOW).is_over;
  assert.equal(is_over({ revoked_at: inDays(-1) }), true);
  assert.equal(is_over({ expires_at: inDays(-1), replaced_by: "two", replaced_at: inDays(-2) }), true);
  assert.equal(is_over({ expires_at: inDays(-31) }), true);
  assert.equal(is_over({ expires_at: inDays(-29) }), false);
  assert.equal(is_over({ expires_at: inDays(1), replaced_by: "two", replaced_at: inDays(-2) }), false);
});

test("a replaced token says whether it was used since", () => {
  const since = (lastUsedAt: Date | null): boolean | null =>
    attend(token("one", { replaced_by: "two", replaced_at: inDays(-2), last_used_at: lastUsedAt }), NOW)
      .is_used_since_replaced;
  assert.deepEqual([since(inDays(-1)), since(inDays(-3)), since(null)], [true, false, false]);
  assert.equal(attend(token("one"), NOW).is_used_since_replaced, null);
});

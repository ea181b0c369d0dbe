import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "./support/page-figures.ts";
import { scene } from "./support/scene.ts";
import { changePlan, insertRows } from "./support/tenants.ts";

/** The page of usage, as its markup is without a browser. */

test("the usage page shows today against the quota, 30 days, each breakdown, and what the details lack", async () => {
  const own = await scene({ dailyQuota: 1000 });
  const { database } = own.service;
  const reader = await own.member();
  const today = new Date().toISOString().slice(0, 10);
  const row = { shop_key: own.shopKey, day: today, token_id: own.tokenId };
  await insertRows(database, "daily_usage", [{ shop_key: own.shopKey, day: today, requests: 900 }]);
  await insertRows(database, "usage_detail", [
    { ...row, endpoint: "summary", surface: "rest", outcome: "ok", requests: 800, quota_requests: 800 },
    { ...row, endpoint: "alerts", surface: "mcp", outcome: "ok", requests: 93, quota_requests: 93 },
    { ...row, endpoint: "alerts", surface: "rest", outcome: "rate_limited", requests: 5, quota_requests: 0 },
  ]);
  const { text } = await reader.get("/settings/usage");
  const plain = wordsOf(text);
  assert.match(plain, /Used 900 of 1,000 requests/u);
  assert.match(plain, /Left 100/u);
  assert.match(plain, /Resets at \d+ \w{3} \d{4}, 00:00 UTC/u);
  assert.match(plain, /Forecast/u);
  assert.match(
    plain,
    /lack 7 of the counted requests: they are up to 10 seconds behind, and a killed server/u,
  );
  assert.match(plain, /reporting rta_live_\w+… 898 5/u);
  assert.match(plain, /\/api\/v1\/summary 800 0/u);
  assert.match(plain, /MCP, by AI agents 93 0/u);
  assert.match(plain, /rate_limited the daily quota was used up, or too many were sent at once \(429\) 5/u);
  assert.match(text, /<svg role="img"/u);
  assert.equal(text.split('<tr data-x="').length - 1, 30, "a row of the table for each day");

  await changePlan(database, own, { dailyQuota: null });
  const unlimited = await reader.get("/settings/usage");
  assert.match(unlimited.text, /has no daily limit/u);
});

test("the page says so if the workspace has sent no request", async () => {
  const reader = await (await scene()).member();
  const { text } = await reader.get("/settings/usage");
  assert.match(text, /No request in these days\./u);
});

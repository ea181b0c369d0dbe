import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./support/scene.ts";
import { unescaped } from "./support/page-figures.ts";
import { startTestService } from "./support/service.ts";
import { insertRows } from "./support/tenants.ts";
import { use } from "./support/use.ts";

const PUBLIC_URL = "http://localhost:8080";

const service = use(() => startTestService({ PUBLIC_URL }));

/** Every kind of alert that the service writes, and one that it does not. */
const KINDS: Record<string, { category: string; metadata: Record<string, unknown> | null }> = {
  early: {
    category: "return_rate_watchlist",
    metadata: {
      kind: "early_warning",
      product_gid: "gid://import/Product/1",
      as_of: "2026-09-10",
      ordered_from: "2026-08-29",
      ordered_to: "2026-09-09",
      parts: [],
    },
  },
  sku: {
    category: "return_rate_watchlist",
    metadata: { kind: "month", sku: "A&B=C #1", cohort_month: "2026-05" },
  },
  group: {
    category: "return_rate_watchlist",
    metadata: {
      kind: "month",
      product_group_type: "family",
      product_group_key: "Boots & Shoes",
      cohort_month: "2026-05",
    },
  },
  ready: { category: "report_ready", metadata: { cohort_month: "2026-05" } },
  stale: { category: "connection_stale", metadata: { source: "shopify" } },
  done: { category: "backfill_completed", metadata: { source: "shopify" } },
  foreign: { category: "foreign", metadata: { sku: "A" } },
};

test("the page of alerts links each alert to its link_url", async () => {
  const tenant = await scene({ on: service });
  const rows = Object.entries(KINDS).map(([alert_id, kind]) => ({
    shop_key: tenant.shopKey,
    alert_id,
    event_key: alert_id,
    severity: "info",
    title: "Title",
    created_at: new Date("2026-09-10T00:00:00Z"),
    ...kind,
  }));
  await insertRows(service.database, "alert", rows);
  const { status, text } = await (await tenant.member()).get("/alerts");
  assert.equal(status, 200);
  const answer = (await tenant.call("/api/v1/alerts")).json();
  const listed = answer["data"] as unknown as { id: string; link_url: string | null }[];
  assert.deepEqual(listed.map(({ id }) => id).toSorted(), Object.keys(KINDS).toSorted());
  for (const { id, link_url: url } of listed) {
    const article = new RegExp(`id="alert-${id}">(.*?)</article>`, "su").exec(text)?.[1] ?? assert.fail(id);
    const hrefs = [
      ...article.matchAll(/<a href="([^"]*)">[^<]*<\/a>(?: · <a [^>]*>See it by week<\/a>)?<\/p>\s*$/gu),
    ].map(([, href = ""]) => PUBLIC_URL + unescaped(href));
    assert.deepEqual(hrefs, url === null ? [] : [url], id);
  }
});

test("a problem is shown as open on every page of alerts, however many others are", async () => {
  const tenant = await scene({ on: service });
  const rows = Array.from({ length: 230 }, (_, index) => ({
    shop_key: tenant.shopKey,
    alert_id: `open-${index}`,
    event_key: `open-${index}`,
    category: "return_rate_watchlist",
    severity: "info",
    title: "Title",
    metadata: { kind: "month", state: "open", episode_id: `open-${index}`, started_on: "2026-09-01" },
    created_at: new Date(Date.UTC(2026, 8, 10, 0, index)),
  }));
  await insertRows(service.database, "alert", rows);
  const member = await tenant.member();
  let href = "/alerts?limit=100";
  for (const shown of [100, 100, 30]) {
    const csv = await member.get(`${href}&csv=alerts`);
    assert.equal(csv.text.split(",open,").length - 1, shown);
    const { text } = await member.get(href);
    href = unescaped(/(\/alerts\?[^"]*)" rel="next"/u.exec(text)?.[1] ?? "");
  }
});

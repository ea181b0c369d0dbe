import assert from "node:assert/strict";
import { test } from "node:test";
import { alertLink } from "./alerts.ts";

const PLACE = { consoleAddress: "https://returns.example", shopDomain: "demo-store.example" };
const REPORT = "https://returns.example/w/demo-store.example/report?";

function urlOf(category: string, metadata: Record<string, unknown> | null): string | null | undefined {
  return alertLink({ category, metadata }, PLACE)?.url;
}

test("an early warning leads to the reasons for what came back of its order days, young months included", () => {
  const metadata = {
    kind: "early_warning",
    product_gid: "gid://import/Product/1",
    ordered_from: "2026-08-29",
    ordered_to: "2026-09-09",
    parts: [{ sku: "A" }],
  };
  assert.equal(
    urlOf("return_rate_watchlist", metadata),
    `${REPORT}product_gid=gid%3A%2F%2Fimport%2FProduct%2F1&start_month=2026-08&end_month=2026-09&` +
      "include_incomplete=true&reportSection=reasons",
  );
});

test("a spike leads to the report of its month, whatever characters its key has", () => {
  const metadata = { kind: "month", sku: "A&B=C #1", cohort_month: "2026-05" };
  assert.equal(
    urlOf("return_rate_watchlist", metadata),
    `${REPORT}sku=A%26B%3DC+%231&start_month=2026-05&end_month=2026-05`,
  );
  const group = {
    product_group_type: "family",
    product_group_key: "Boots & Shoes",
    cohort_month: "2026-05",
  };
  assert.match(
    urlOf("return_rate_watchlist", group) ?? "",
    /\?product_group_type=family&product_group_key=Boots\+%26\+Shoes&start_month=/u,
  );
});

test("a ready report leads to the workspace's report of that month", () => {
  assert.equal(
    urlOf("report_ready", { cohort_month: "2026-05" }),
    `${REPORT}start_month=2026-05&end_month=2026-05`,
  );
});

test("what concerns a source leads to the overview", () => {
  for (const category of ["connection_stale", "backfill_completed"]) {
    assert.deepEqual(alertLink({ category, metadata: { source: "shopify" } }, PLACE), {
      url: "https://returns.example/w/demo-store.example",
      label: "Open the overview",
    });
  }
});

test("an alert that names no report leads nowhere", () => {
  assert.equal(urlOf("foreign", null), undefined);
  assert.equal(urlOf("return_rate_watchlist", null), undefined);
  assert.equal(urlOf("report_ready", { cohort_month: 5 }), undefined);
});

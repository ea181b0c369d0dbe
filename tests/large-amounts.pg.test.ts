import assert from "node:assert/strict";
import { test } from "node:test";
import { importStore } from "./support/import-store.ts";
import { scene } from "./support/scene.ts";

/** Amounts that are allowed individually but add up to more than a number represents exactly: 9,100 lines of 1,000,000,000,000 minor units. */
const AMOUNT = "10000000000.00";
const LINES = Array.from({ length: 9100 }, (_, index) => ({
  order_id: `o${index}`,
  line_id: "l1",
  units: 1,
}));
const FILES = {
  order_lines: LINES.map((line) => ({
    ...line,
    ordered_at: "2026-01-05T10:00:00Z",
    product_id: "p1",
    sku: "LAMP",
    unit_price: AMOUNT,
  })),
  refunds: LINES.map((line) => ({
    ...line,
    refund_id: `refund of ${line.order_id}`,
    refunded_at: "2026-01-15T10:00:00Z",
    subtotal: AMOUNT,
    restock_type: "RETURN" as const,
  })),
};
const MONTHS = { start_month: "2026-01", end_month: "2026-03" };
const REFUSAL =
  /^A figure of this request is beyond 9,007,199,254,740,991, amounts in minor units, and cannot be given exactly/u;

test("a sum beyond what a number represents exactly is refused in one sentence, as JSON, CSV, tool and page", async () => {
  const shop = await scene({ dataAsOf: "2026-10-01T00:00:00Z" });
  await importStore(shop.service, shop, { asOf: "2026-10-01T00:00:00Z", files: FILES });
  for (const [path, params] of [
    ["summary", MONTHS],
    ["report", MONTHS],
    ["export/report.csv", MONTHS],
    ["leaderboards/return-rate", { period: "year" }],
    ["leaderboards/return-cost", MONTHS],
  ] as const) {
    const answer = await shop.call(`/api/v1/${path}`, params);
    assert.equal(answer.status, 400, `${path}: ${answer.text.slice(0, 300)}`);
    assert.match(answer.message(), REFUSAL);
  }
  const tool = await shop.tool("get_summary", MONTHS);
  assert.equal(tool.isError, true);
  assert.match(tool.text, new RegExp(REFUSAL.source.slice(1), "u"));
  const member = await shop.member();
  for (const path of ["", "/report", "/products", "/alerts"]) {
    const page = await member.get(path);
    assert.ok(page.status === 200 || page.status === 400, `${path}: ${page.status}`);
  }
  assert.equal((await shop.call("/api/v1/timeseries", MONTHS)).status, 200);
});

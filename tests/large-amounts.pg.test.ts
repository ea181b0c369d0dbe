import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATOR } from "../src/actions/actor.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { csv, withFolder } from "./support/import-workspace.ts";
import { scene } from "./support/scene.ts";

/** Amounts that are allowed one by one, and add up to more than a number holds exactly: 9,100 lines of 1,000,000,000,000 minor units. */
const ROWS = Array.from({ length: 9100 }, (_, index) => index);
const AMOUNT = "10000000000.00";
const FOLDER = {
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,product_id,sku,units,unit_price",
    ...ROWS.map((row) => `o${row},l1,2026-01-05T10:00:00Z,p1,LAMP,1,${AMOUNT}`),
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type",
    ...ROWS.map((row) => `f${row},o${row},l1,2026-01-15T10:00:00Z,1,${AMOUNT},RETURN`),
  ),
};
const MONTHS = "start_month=2026-01&end_month=2026-03";
const REFUSAL =
  /^A figure of this request is beyond 9,007,199,254,740,991, amounts in minor units, and cannot be given exactly/u;

test("what adds up to more than a number holds exactly is refused in one sentence, as JSON, CSV, tool and page", async () => {
  const shop = await scene({ dataAsOf: "2026-10-01T00:00:00Z" });
  const { service, shopKey } = shop;
  await withFolder(FOLDER, (folder) =>
    importFolder({
      database: service.installation.database,
      actor: OPERATOR,
      shopKey,
      currencyCode: "EUR",
      folder,
      asOf: new Date("2026-10-01T00:00:00Z"),
      now: new Date(),
      skipInvalid: false,
    }),
  );
  for (const path of [
    `summary?${MONTHS}`,
    `report?${MONTHS}`,
    `export/report.csv?${MONTHS}`,
    "leaderboards/return-rate?period=year",
    `leaderboards/return-cost?${MONTHS}`,
  ]) {
    const answer = await fetch(`${service.address}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${shop.token}` },
    });
    const text = await answer.text();
    assert.equal(answer.status, 400, `${path}: ${text.slice(0, 300)}`);
    assert.match((JSON.parse(text) as { error: { message: string } }).error.message, REFUSAL);
  }
  const tool = await shop.tool("get_summary", { start_month: "2026-01", end_month: "2026-03" });
  assert.equal(tool.isError, true);
  assert.match(tool.text, new RegExp(REFUSAL.source.slice(1), "u"));
  const member = await shop.member();
  for (const path of ["", "/report", "/products", "/alerts"]) {
    const page = await member.get(path);
    assert.ok(page.status === 200 || page.status === 400, `${path}: ${page.status}`);
  }
  const units = await fetch(`${service.address}/api/v1/timeseries?${MONTHS}`, {
    headers: { authorization: `Bearer ${shop.token}` },
  });
  assert.equal(units.status, 200);
});

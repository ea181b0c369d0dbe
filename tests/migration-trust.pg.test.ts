import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { readMigration } from "../src/store/migration-files.ts";
import { MIGRATIONS } from "./support/migration-folder.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import { rowsOf } from "./support/webhooks.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** What the migration does to rows that are there already. */
const { statements: STATEMENTS } = await readMigration(new URL("before-release/", MIGRATIONS), "0014_trust");
const OF_ROWS = STATEMENTS.filter((text) => /^(?:update|delete)|\bfunction tracking_digest\b/u.test(text));

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

test("stored labels of Loop lose the tracking number from their id, and image addresses what is no http(s)", async () => {
  const { shopKey } = await createTenant(service.database);
  const charged = { charged_at: "2026-01-10T00:00:00Z", amount_minor: 500, currency_code: "EUR" };
  const label = { shop_key: shopKey, source: "loop", ...charged };
  await insertRows(service.database, "return_label", [
    { ...label, label_id: "12:1Z:9", tracking_number: "1Z:9" },
    { ...label, label_id: "12:0", tracking_number: null },
    { ...label, source: "csv", label_id: "12:1Z9", tracking_number: "1Z9" },
  ]);
  const place = { shop_key: shopKey, source: "loop", label_id: "12:1Z:9" };
  await insertRows(service.database, "label_share", [
    { ...place, order_id: "o1", line_id: "l1", cohort_month: "2026-01-01", lag_days: 1, label_minor: 500 },
  ]);
  await insertRows(service.database, "unmatched_label", [
    { ...place, charged_on: "2026-01-10", amount_minor: 500 },
  ]);
  await insertRows(service.database, "product", [
    { shop_key: shopKey, product_gid: "p1", title: "One", image_url: "javascript:alert(1)" },
    { shop_key: shopKey, product_gid: "p2", title: "Two", image_url: "https://images.example/2.jpg" },
  ]);
  assert.equal(OF_ROWS.length, 7);
  for (const statement of OF_ROWS) await service.database.query(statement);

  const idsIn = async (table: string): Promise<string[]> => {
    const rows = await rowsOf<{ label_id: string }>(service, table, shopKey, "label_id, source");
    return rows.map((row) => row.label_id);
  };
  const renamed = `12:${digestOf("1Z:9")}`;
  assert.deepEqual(await idsIn("return_label"), ["12:0", "12:1Z9", renamed].toSorted());
  assert.deepEqual([await idsIn("label_share"), await idsIn("unmatched_label")], [[renamed], [renamed]]);
  assert.deepEqual(await rowsOf(service, "product", shopKey, "product_gid, image_url"), [
    { product_gid: "p1", image_url: null },
    { product_gid: "p2", image_url: "https://images.example/2.jpg" },
  ]);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { csv, startImportShop } from "../../../../tests/support/import-shop.ts";
import type { ImportShop } from "../../../../tests/support/import-shop.ts";
import type { ImportWarning } from "./problems.ts";

const HEADER = "order_id,line_id,ordered_at,units";
const OLD = {
  "order_lines.csv": csv(HEADER, "o1,l1,2025-12-20T10:00:00Z,1", "o2,l1,2026-01-05T23:59:59Z,2"),
};
const SEVEN_DAYS_LATER = new Date("2026-01-12T23:59:59Z");
const EIGHT_DAYS_LATER = new Date("2026-01-13T00:00:00Z");

let shop: ImportShop;
before(async () => {
  shop = await startImportShop();
});
after(() => shop.stop());

const oldOrders = (warnings: readonly ImportWarning[]): ImportWarning[] =>
  warnings.filter(({ kind }) => kind === "old_orders");

test("M5: orders that end 8 days before the as-of are reported with day, as-of, consequence and option; 7 days are not", async () => {
  const shopKey = await shop.open();
  // The first import reads the lines in order, the later ones go through the stage.
  for (const way of ["in order", "staged"]) {
    const recent = await shop.import(shopKey, OLD, { asOf: SEVEN_DAYS_LATER });
    assert.deepEqual(oldOrders(recent.warnings), [], way);
  }
  const first = await shop.open();
  for (const importedInto of [shopKey, first]) {
    const { imported, warnings } = await shop.import(importedInto, OLD, { asOf: EIGHT_DAYS_LATER });
    assert.equal(imported, true);
    assert.deepEqual(oldOrders(warnings), [
      {
        kind: "old_orders",
        file: null,
        message:
          "the newest order is from 2026-01-05, 8 days before the as-of 2026-01-13: months without " +
          "orders look complete and leaderboards rank empty months; if the files end there, import them again with " +
          "--as-of 2026-01-06",
        count: null,
      },
    ]);
  }
});

test("the advice is followed without another warning", async () => {
  const shopKey = await shop.open();
  const { warnings } = await shop.import(shopKey, OLD);
  const [, day = ""] = /--as-of (\S+)$/u.exec(oldOrders(warnings)[0]?.message ?? "") ?? [];
  const again = await shop.import(shopKey, OLD, { asOf: new Date(`${day}T00:00:00Z`) });
  assert.deepEqual(oldOrders(again.warnings), []);
});

test("a correction of an old order is not told where the workspace has newer ones", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { "order_lines.csv": csv(HEADER, "o9,l1,2026-01-10T10:00:00Z,1") });
  const corrected = await shop.import(shopKey, OLD, { asOf: EIGHT_DAYS_LATER });
  assert.deepEqual(oldOrders(corrected.warnings), []);
});

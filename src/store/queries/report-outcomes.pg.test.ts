import assert from "node:assert/strict";
import { test } from "node:test";
import { monthOfDate } from "../../lib/month.ts";
import { service } from "../../../tests/support/shared-service.ts";
import { createSmallStore, SKUS, STORE_MONTHS } from "../../../tests/support/small-store.ts";
import { loadOutcomes, type OutcomeFigures } from "./report-outcomes.ts";
import type { Selection } from "./selection.ts";
import { loadAnyWorkspace } from "./workspace-load.ts";

test("M23: the outcomes of SKUs and products, by lines, add up to those of their groups, by events", async () => {
  const { database } = service.installation;
  const { shopKey } = await createSmallStore(service.database);
  const workspace = (await loadAnyWorkspace(database, shopKey))?.workspace;
  assert.ok(workspace);
  const months = STORE_MONTHS.map((month) => monthOfDate(`${month}-01`));
  const outcomesOf = (kind: Selection["kind"], key: string, includeUsed: boolean): Promise<OutcomeFigures> =>
    loadOutcomes(database, workspace, {
      selection: { kind, key, includeUsed, vendor: null },
      windowDays: 30,
      countedMonths: months,
      startMonth: Math.min(...months),
      endMonth: Math.max(...months),
    });
  const sumOf = (parts: readonly OutcomeFigures[]): OutcomeFigures =>
    parts.reduce((total, part) => ({
      ...(Object.fromEntries(
        Object.entries(total).map(([name, value]) => [
          name,
          (value ?? 0) + (part[name as keyof OutcomeFigures] ?? 0),
        ]),
      ) as OutcomeFigures),
      unattributed_refund_minor: null,
    }));
  const products = [...new Set(SKUS.map(({ product }) => product))];
  for (const family of new Set(products.map((product) => product.family))) {
    const inFamily = products.filter((product) => product.family === family);
    const parts = await Promise.all(inFamily.map(({ gid }) => outcomesOf("product", gid, true)));
    const whole = await outcomesOf("family", family, true);
    assert.ok(whole.returned_units > 0);
    assert.deepEqual(sumOf(parts), whole);
  }
  for (const product of products) {
    const unused = SKUS.filter((each) => each.product === product && !each.isUsed);
    const parts = await Promise.all(unused.map(({ sku }) => outcomesOf("sku", sku, false)));
    assert.deepEqual(sumOf(parts), await outcomesOf("product", product.gid, false));
    const withUsed = await Promise.all(unused.map(({ sku }) => outcomesOf("sku", sku, true)));
    assert.deepEqual(sumOf(withUsed), await outcomesOf("product", product.gid, true));
  }
});

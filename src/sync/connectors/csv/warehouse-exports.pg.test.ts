import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, NOW, startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import type { FolderFiles } from "../../../../tests/support/import-workspace.ts";
import { use } from "../../../../tests/support/use.ts";

const HEADER = "order_id,line_id,ordered_at,units";
const lineAt = (time: string): FolderFiles => ({ "order_lines.csv": csv(HEADER, `o1,l1,${time},1`) });

const shop = use(startImportWorkspace);

test("a time with BigQuery's UTC suffix is the same moment as one with Z", async () => {
  const expected = await shop.open();
  await shop.import(expected, lineAt("2026-01-05T10:00:00.123Z"));
  for (const time of ["2026-01-05 10:00:00.123 UTC", "2026-01-05 10:00:00.123456 UTC"]) {
    const shopKey = await shop.open();
    assert.deepEqual((await shop.import(shopKey, lineAt(time))).invalid, [], time);
    assert.deepEqual(await shop.dump(shopKey), await shop.dump(expected), time);
  }
  for (const time of ["2026-01-05 10:00:00 CET", "2026-01-05 10:00:00UTC+1", "2026-01-05 UTC"]) {
    const { invalid } = await shop.import(await shop.open(), lineAt(time));
    assert.match(invalid[0]?.reason ?? "", /ISO 8601 time with offset/u, time);
  }
});

test("an amount that went through floating point is refused with the fix; zeros at its end are none", async () => {
  const refund = (subtotal: string): FolderFiles => ({
    ...lineAt("2026-01-05T10:00:00Z"),
    "refunds.csv": csv(
      "refund_id,order_id,line_id,refunded_at,units,subtotal",
      `f1,o1,l1,2026-01-06 00:00:00 UTC,1,${subtotal}`,
    ),
  });
  const { imported, invalid } = await shop.import(await shop.open(), refund("12.340000000000001"));
  assert.equal(imported, false);
  assert.deepEqual(invalid, [
    {
      file: "refunds.csv",
      line: 2,
      column: "subtotal",
      reason:
        'has more than the 2 decimals of EUR: "12.340000000000001"; export it as a decimal rounded to 2 places, ' +
        "not as a floating-point number",
      allowed: "an amount of at least 0 with at most 2 decimals, such as 12.50",
    },
  ]);
  assert.deepEqual((await shop.import(await shop.open(), refund("12.340000000"))).invalid, []);
});

test("an order of more than a day from now is refused with what is allowed, in a first import and a later one", async () => {
  const shopKey = await shop.open();
  const inADay = new Date(Date.parse(NOW) + 86_400_000);
  const tooLate = lineAt(new Date(inADay.getTime() + 1).toISOString());
  const problem = {
    file: "order_lines.csv",
    line: 2,
    column: "ordered_at",
    reason:
      "is in the future: 2026-07-02T00:00:00.001Z; an order may be dated up to a day from now, which is " +
      "2026-07-02T00:00:00.000Z",
    allowed: "a time of at most 2026-07-02T00:00:00.000Z",
  };
  for (const way of ["in order", "staged"]) {
    const { imported, invalid } = await shop.import(shopKey, tooLate);
    assert.deepEqual([imported, invalid], [false, [problem]], way);
    assert.equal((await shop.import(shopKey, lineAt(inADay.toISOString()))).imported, true);
  }
});

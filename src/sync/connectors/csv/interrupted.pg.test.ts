import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { lockShop } from "../../../store/queries/import-stage.ts";
import { csv, startImportShop } from "../../../../tests/support/import-shop.ts";
import type { ImportShop } from "../../../../tests/support/import-shop.ts";
import { countWaitingForLocks, untilLockIsAwaited } from "../../../../tests/support/locks.ts";

const LINES = csv("order_id,line_id,ordered_at,units", "o1,l1,2026-01-05T10:00:00Z,1");
const REASON = new Error("stopped by somebody");

let shop: ImportShop;
before(async () => {
  shop = await startImportShop();
});
after(() => shop.stop());

test("an import that waits for another run says so, and one that is stopped leaves no statement behind", async () => {
  const shopKey = await shop.open();
  await shop.database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    const stop = new AbortController();
    let waits = 0;
    const stopped = shop.import(
      shopKey,
      { "order_lines.csv": LINES },
      { signal: stop.signal, onWait: () => void (waits += 1) },
    );
    const outcome = assert.rejects(stopped, REASON);
    await untilLockIsAwaited(shop.database);
    assert.equal(waits, 1);
    stop.abort(REASON);
    await outcome;
    assert.equal(await countWaitingForLocks(shop.database), 0);
  });
  assert.equal((await shop.import(shopKey, { "order_lines.csv": LINES })).counts.order_lines, 1);
});

test("an import that was stopped before it began changes nothing", async () => {
  const shopKey = await shop.open();
  const signal = AbortSignal.abort(REASON);
  await assert.rejects(shop.import(shopKey, { "order_lines.csv": LINES }, { signal }), REASON);
  assert.deepEqual((await shop.dump(shopKey))["order_line"], []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { startImportWorkspace } from "../../tests/support/import-workspace.ts";
import { openCopyBuffer } from "./copy.ts";
import { use } from "../../tests/support/use.ts";

const shop = use(startImportWorkspace);

test("a repeated key in a COPY has its SQLSTATE, also from a node", async () => {
  const shopKey = await shop.open();
  const copied = shop.database.transaction(async (connection) => {
    const buffer = openCopyBuffer(connection, "order_reference (shop_key, order_id, order_name)");
    for (const name of ["#1", "#2"]) buffer.add([shopKey, "o1", name]);
    await buffer.send();
  });
  await assert.rejects(copied, { code: "23505", message: /violates unique constraint/u });
});

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { countRowsByTable } from "../../../tests/support/rows-by-table.ts";
import { startTestService } from "../../../tests/support/service.ts";
import { seedSmallStore } from "../../../tests/support/small-store.ts";
import { createTenant, insertRows } from "../../../tests/support/tenants.ts";
import { makeWorkspace, operatorOf } from "../../../tests/support/workspace.ts";
import { runAction } from "../action.ts";
import { textInput } from "../field.ts";
import { deleteWorkspace } from "./actions.ts";
import { requireWorkspace } from "./workspace.ts";
import { use } from "../../../tests/support/use.ts";

const service = use(startTestService);

async function fullTenant() {
  const tenant = await createTenant(service.database);
  await seedSmallStore(service.database, tenant.shopKey);
  await insertRows(service.database, "alert_endpoint", [
    {
      shop_key: tenant.shopKey,
      endpoint_id: randomUUID(),
      kind: "webhook",
      name: "An endpoint",
      shown_address: "https://receiver.example",
      sealed_secrets: "\\x00",
      severities: ["critical"],
      created_by: "user:test",
      cursor_at: "2026-01-01T00:00:00Z",
      cursor_id: "",
    },
  ]);
  return tenant;
}

test("a deleted workspace leaves no row in any table, and the others keep theirs", async () => {
  const { database } = service.installation;
  const [leaving, staying] = [await fullTenant(), await fullTenant()];
  const seeded = await countRowsByTable(service.database, leaving.shopKey);
  const empty = Object.keys(seeded).filter((table) => seeded[table] === 0);
  assert.deepEqual(empty, [], "every table of workspaces is to be seeded, or this test proves nothing of it");
  const stored = await countRowsByTable(service.database, staying.shopKey);
  const workspace = await requireWorkspace(database, leaving.shopDomain);
  assert.equal(
    (await service.call("/api/v1/alerts", { token: leaving.token, isUnlimited: false })).status,
    200,
  );

  const { result } = await runAction(deleteWorkspace, operatorOf(database, workspace), textInput({}));
  assert.deepEqual(result, { shop_domain: leaving.shopDomain });
  const left = await countRowsByTable(service.database, leaving.shopKey);
  assert.deepEqual(
    Object.keys(left).filter((table) => left[table] !== 0),
    [],
  );
  assert.deepEqual(await countRowsByTable(service.database, staying.shopKey), {
    ...stored,
  });
  assert.equal((await service.call("/api/v1/alerts", { token: leaving.token })).status, 401);
  const { rows } = await service.database.query("select action, detail from identity_event");
  assert.deepEqual(rows, [{ action: "workspace.delete", detail: { shop_domain: leaving.shopDomain } }]);

  const again = runAction(deleteWorkspace, operatorOf(database, workspace), textInput({}));
  await assert.rejects(again, /has already been deleted/u);
  await makeWorkspace(database, leaving.shopDomain);
});

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { setRules } from "../src/actions/workspace/order-rules.ts";
import { applyRules } from "../src/sync/apply.ts";
import { rebuildWorkspace } from "../src/sync/rebuild.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { runCommand } from "./support/command.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { countLockWaits } from "./support/locks.ts";
import { previewIn } from "./support/page-figures.ts";
import { serviceEnvironment } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import type { Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

/** Which orders count, on the page and by command: the preview, the admins' right, and the audit. */

let tenant: Tenant;

before(async () => {
  tenant = await createStoreTenant(service);
  const orders = ["o1", "o2", "o3"].map((id) => ({
    order_id: id,
    line_id: "l1",
    ordered_at: "2026-01-05T10:00:00Z",
    sku: "HAT",
    units: 4,
  }));
  await importStore(service, tenant, {
    currencyCode: "EUR",
    asOf: "2026-06-01T00:00:00Z",
    files: { order_lines: orders },
  });
  await service.database.query(
    `update order_document set document = document || '{"tags":["wholesale"],"free":true}'
      where shop_key = $1 and order_id = 'o3'`,
    [tenant.shopKey],
  );
  await service.installation.database.transaction((connection) =>
    rebuildWorkspace(connection, tenant.shopKey),
  );
});

const PATH = "/settings/orders";
const DEFAULTS: Record<string, string> = {
  exchange_names: "EXC-",
  exchange_tags: "narvar_exchange_order",
  free_drafts: "count",
  free_orders: "count",
  unpaid: "count",
  voided: "count",
  left_out_channels: "",
  left_out_tags: "",
  refunds_without_restock: "return",
};

const queryOf = (change: Record<string, string>): string =>
  `${PATH}?${new URLSearchParams({ ...DEFAULTS, ...change }).toString()}`;

const soldUnits = async () => {
  const params = { start_month: "2026-01", end_month: "2026-01" };
  const answer = await service.call("/api/v1/summary", { token: tenant.token, params, isUnlimited: true });
  return answer.json().data["sold_units"];
};

test("the effect is shown before it is saved; a save is recorded, and the API follows once a worker has applied it", async () => {
  const admin = await actAs(service, tenant, "admin");
  const first = await admin.get(PATH);
  assert.equal(first.status, 200);
  assert.doesNotMatch(first.text, />Save</u);
  const change = { free_orders: "leave_out", exchange_names: "" };
  const shown = await admin.get(queryOf(change));
  assert.match(shown.text, />Save</u);
  const { sold_units_now, sold_units, left_out_free_orders, return_rate } = previewIn(shown.text);
  assert.deepEqual([sold_units_now, sold_units, left_out_free_orders, return_rate], ["12", "8", "1", "0"]);
  const saved = await admin.post(PATH, { ...DEFAULTS, ...change });
  assert.deepEqual([saved.status, saved.location], [303, PATH]);
  assert.equal(await soldUnits(), 12);
  assert.match((await admin.get(PATH)).text, /The figures do not reflect these rules yet/u);
  await applyRules(service.installation.database, tenant.shopKey);
  assert.equal(await soldUnits(), 8);
  const page = (await admin.get(PATH)).text;
  assert.doesNotMatch(page, /do not reflect/u);
  assert.match(page, /<option value="leave_out"\s+selected=""/u);
  assert.deepEqual(await auditOf(service, tenant), [
    { action: "rules.set", detail: { ...DEFAULTS, ...change }, before: DEFAULTS },
  ]);
});

test("an invalid value is refused by the label of its field, in the query and in the form, and changes nothing", async () => {
  const admin = await actAs(service, tenant, "admin", "another admin");
  const count = (await auditOf(service, tenant)).length;
  for (const change of [
    { unpaid: "maybe" },
    { left_out_tags: "a".repeat(256) },
    { exchange_tags: "x,".repeat(51) },
  ]) {
    const [name = ""] = Object.keys(change);
    const { label } = setRules.input[name as keyof typeof setRules.input];
    const asked = await admin.get(queryOf(change));
    assert.equal(asked.status, 400, name);
    assert.match(asked.text, new RegExp(`${label}(?: must |: choose )`, "u"));
    const sent = await admin.post(PATH, { ...DEFAULTS, ...change });
    assert.equal(sent.status, 400, name);
    assert.match(sent.text, new RegExp(`${label}(?: must |: choose )`, "u"));
  }
  assert.equal((await auditOf(service, tenant)).length, count);
});

test("the command shows the rules, says what others would change, and saves them", async () => {
  const run = async (...words: string[]) => {
    const all = ["workspace", "rules", "--workspace", tenant.shopDomain, ...words];
    return runCommand(all, serviceEnvironment(service.databaseUrl));
  };
  const shown = await run("--json");
  assert.equal(
    (JSON.parse(shown.stdout) as Record<string, string>)["free_orders"],
    "leave_out",
    shown.stderr,
  );
  const saved = await run("free_orders=count", "left_out_tags=wholesale", "--yes");
  assert.equal(saved.code, 0, saved.stderr);
  assert.match(
    saved.stderr,
    /Return rate of 2025-05 to 2026-04: 0 \(0 of 8 units\), orders left out: 1\. With these rules: 0 \(0 of 8 units\), orders left out: 1\./u,
  );
  await applyRules(service.installation.database, tenant.shopKey);
  assert.equal(await soldUnits(), 8);
  const refused = await run("colour=red", "--yes");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /"colour" is not an order rule; the rules are exchange_names,/u);
});

test("previews leave connections to others: one per workspace and two in all run at once, the rest are refused for now", async () => {
  const others = await Promise.all([createStoreTenant(service), createStoreTenant(service)]);
  for (const other of others) {
    const asOf = "2026-06-01T00:00:00Z";
    const line = { order_id: "o1", line_id: "l1", ordered_at: "2026-01-05T10:00:00Z", sku: "HAT", units: 4 };
    await importStore(service, other, { currencyCode: "EUR", asOf, files: { order_lines: [line] } });
  }
  const admins = await Promise.all(
    [tenant, ...others].map((each) => actAs(service, each, "admin", `${each.shopDomain} asks often`)),
  );
  const viewer = await actAs(service, tenant, "viewer", "a patient viewer");
  const client = await service.database.connect();
  const asked = async (): Promise<number[]> => {
    const all = admins.flatMap((admin) =>
      Array.from({ length: 4 }, () => admin.get(queryOf({ free_orders: "leave_out" }))),
    );
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    return statuses.toSorted((left, right) => left - right);
  };
  try {
    await client.query("begin");
    await client.query("lock table order_document in access exclusive mode");
    const previews = asked();
    const areHeld = async (): Promise<boolean> => (await countLockWaits(service.database)) === 2;
    await eventually(areHeld, "two previews read", 10);
    const began = performance.now();
    assert.equal((await viewer.get("/settings")).status, 200);
    assert.ok(performance.now() - began < 2000);
    await setTimeout(3500);
    assert.equal(await countLockWaits(service.database), 2);
    await client.query("rollback");
    assert.deepEqual(await previews, [200, 200, ...Array<number>(10).fill(429)]);
  } finally {
    await client.query("rollback");
    client.release();
  }
  assert.equal((await admins[0]?.get(queryOf({ free_orders: "leave_out" })))?.status, 200);
});

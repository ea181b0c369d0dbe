import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { ask, read } from "./support/simulator-client.ts";
import type { GraphqlBody } from "./support/simulator-client.ts";

const NOW = "2026-11-20T00:00:00Z";

test("an empty bucket answers THROTTLED with status 200, and waiting as its status says is enough", async () => {
  const simulator = await startShopifySimulator({
    orders: 30,
    now: NOW,
    bucketPoints: 40,
    restorePerSecond: 20,
  });
  try {
    const query = "{ orders(first: 250, sortKey: ID) { nodes { id lineItems(first: 2) { nodes { id } } } } }";
    const first = await ask(query, { simulator });
    assert.equal(first.errors?.[0]?.extensions?.code, "THROTTLED", "57 points never fit into 40");
    const small = "{ orders(first: 30, sortKey: ID) { nodes { id lineItems(first: 2) { nodes { id } } } } }";
    const throttled = await askUntilRefused(small, simulator);
    assert.equal(throttled.errors?.[0]?.extensions?.code, "THROTTLED");
    const { requestedQueryCost, actualQueryCost, throttleStatus } =
      throttled.extensions?.cost ?? assert.fail();
    assert.equal(actualQueryCost, null);
    assert.ok(throttleStatus.currentlyAvailable < requestedQueryCost);
    const missing = requestedQueryCost - throttleStatus.currentlyAvailable;
    await pause((missing / throttleStatus.restoreRate) * 1000 + 10);
    assert.equal((await ask(small, { simulator })).errors, undefined);
  } finally {
    await simulator.stop();
  }
});

/** One after another, so that the refusal's status is the bucket's last word. */
async function askUntilRefused(query: string, simulator: ShopifySimulator): Promise<GraphqlBody<unknown>> {
  for (let asked = 0; asked < 100; asked += 1) {
    const answer = await ask(query, { simulator });
    if (answer.errors !== undefined) return answer;
  }
  return assert.fail("the bucket never ran empty");
}

test("without read_all_orders only the orders of the last 60 days are seen, in lists, by id and counted", async () => {
  const scopes = ["read_orders", "read_returns", "read_products"];
  const simulator = await startShopifySimulator({ orders: 300, now: NOW, scopes });
  try {
    const query = "{ orders(first: 250) { nodes { id createdAt } } ordersCount { count } }";
    type Answer = { orders: { nodes: { id: string; createdAt: string }[] }; ordersCount: { count: number } };
    const recent = await read<Answer>(query, { simulator });
    const oldest = recent.orders.nodes.map(({ createdAt }) => createdAt).toSorted()[0] ?? "";
    assert.ok(oldest >= "2026-09-21T00:00:00Z");
    assert.ok(recent.orders.nodes.length > 10 && recent.orders.nodes.length < 60);
    assert.equal(recent.ordersCount.count, recent.orders.nodes.length);
    const { order } = await read<{ order: unknown }>(
      `{ order(id: "gid://shopify/Order/5800000000001") { id } }`,
      {
        simulator,
      },
    );
    assert.equal(order, null);
    await simulator.control("set-scopes", { scopes: [...scopes, "read_all_orders"] });
    assert.equal((await read<Answer>(query, { simulator })).ordersCount.count, 300);
    await simulator.control("set-scopes", { scopes: ["read_orders"] });
    const { errors } = await ask("{ orders(first: 1) { nodes { id returns(first: 1) { nodes { id } } } } }", {
      simulator,
    });
    assert.equal(errors?.[0]?.extensions?.code, "ACCESS_DENIED");
  } finally {
    await simulator.stop();
  }
});

test("a simulator ends with the process that started it, also when that one is killed", async () => {
  const start = join(import.meta.dirname, "../tools/simulators/shopify/start.ts");
  const script = `const { startShopifySimulator } = await import(${JSON.stringify(start)});
    console.log((await startShopifySimulator({ orders: 5 })).url);`;
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve) => {
    parent.stdout.once("data", (text: Buffer) => resolve(String(text).trim()));
  });
  assert.equal((await fetch(`${url}/control/statistics`)).status, 200);
  parent.kill("SIGKILL");
  for (let waits = 0; waits < 100; waits += 1) {
    const alive = await fetch(`${url}/control/statistics`).then(
      () => true,
      () => false,
    );
    if (!alive) return;
    await pause(50);
  }
  assert.fail("the simulator outlived its parent");
});

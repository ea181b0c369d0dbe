import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startShipStationSimulator } from "../tools/simulators/shipstation/server.ts";
import type { ShipStationSimulator } from "../tools/simulators/shipstation/server.ts";
import { readConfig } from "../src/config.ts";
import { deriveKeys } from "../src/lib/keys.ts";
import { traced } from "../src/lib/trace.ts";
import { putConnection } from "../src/store/queries/data-source.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { ask, RETRY_POLICY } from "../src/sync/connectors/shared/http.ts";
import { createConnectors } from "../src/sync/connectors/sources.ts";
import { openCredentials, sealSecrets } from "../src/sync/credentials.ts";
import { only, startCollector, traceWhile, tracingEnvironment, treeOf } from "./support/collector.ts";
import type { CollectedSpan, Collector } from "./support/collector.ts";
import { startCommand } from "./support/command.ts";
import { addTestEndpoint, writeAlerts } from "./support/push.ts";
import { startReceiver, type Receiver } from "./support/receiver.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { serviceEnvironment, startTestService, type TestService } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { eventually, runNext, workerOptions } from "./support/worker.ts";
import { makeFolder } from "./support/folder.ts";

let collector: Collector;
let service: TestService;
let simulator: ShipStationSimulator;
let receiver: Receiver;
before(async () => {
  [collector, service, simulator, receiver] = await Promise.all([
    startCollector(),
    startTestService(),
    startShipStationSimulator({ count: 3, currencyCode: "EUR" }),
    startReceiver(),
  ]);
});
after(() => Promise.all([collector.stop(), service.stop(), simulator.stop(), receiver.stop()]));

/** Requests a due run of a label source. */
async function requestLabels({ shopKey }: Tenant): Promise<void> {
  const { database } = service.installation;
  const place = { sealingKey: deriveKeys(TEST_SECRET).sealingKey, shopKey, source: "shipstation" };
  await putConnection(database, {
    shopKey,
    source: "shipstation",
    kind: "label_cost",
    settings: { url: simulator.url },
    sealedCredentials: sealSecrets(place, { apiKey: simulator.apiKey }),
  });
  await requestRun(database, { shopKey, source: "shipstation", kind: "backfill", requestedBy: "operator" });
}

test("a worker sends a trace of each run and each delivery before it stops", async () => {
  const tenant = await createTenant(service.database);
  await addTestEndpoint(service, tenant, { address: receiver.url });
  await writeAlerts(service, tenant, [{ title: "CaNaRy7361" }]);
  await requestLabels(tenant);
  const worker = startCommand(["worker"], {
    ...serviceEnvironment(service.databaseUrl),
    ...tracingEnvironment(collector),
    PUSH_NETWORKS: "127.0.0.0/8",
  });
  await worker.printed(/keeps connected sources/u);
  await receiver.arrived(1);
  await eventually(async () => {
    const { rows } = await service.database.query(
      `select from sync_run join alert_endpoint using (shop_key)
        where shop_key = $1 and status = 'succeeded' and due_at is null`,
      [tenant.shopKey],
    );
    return rows.length === 1;
  }, "the run and the delivery");
  worker.child.kill("SIGTERM");
  const { code, stderr } = await worker.outcome;
  assert.equal(code, 0);

  const run = only(collector.spans, "run shipstation");
  const { "returns.run_id": runId, "returns.records.labels": labels, ...attributes } = run.attributes;
  assert.match(String(runId), /^[0-9a-f-]{36}$/u);
  assert.ok(Number(labels) > 0);
  const others = Object.entries(attributes).filter(([name]) => !name.startsWith("returns.records."));
  assert.deepEqual(Object.fromEntries(others), {
    "returns.source": "shipstation",
    "returns.source_kind": "label_cost",
    "returns.run_kind": "backfill",
    "returns.attempt": 1,
    "returns.run_status": "succeeded",
  });
  const below = treeOf(collector.spans, run.spanId);
  assert.ok("finish_run" in below && "GET" in below, Object.keys(below).join(", "));
  const { attributes: request } = collector.spans.find(
    ({ name, traceId }) => name === "GET" && traceId === run.traceId,
  ) as CollectedSpan;
  assert.deepEqual(request, {
    "http.request.method": "GET",
    "server.address": "127.0.0.1",
    "http.response.status_code": 200,
  });
  const lines = stderr.split("\n").filter((line) => line.includes('"run_id"'));
  assert.ok(lines.length >= 2 && lines.every((line) => line.includes(run.traceId)), stderr);

  const delivery = only(collector.spans, "deliver alerts");
  assert.deepEqual(delivery.attributes, {
    "returns.endpoint_kind": "webhook",
    "returns.alerts": 1,
    "returns.attempt": 1,
    "returns.delivery_status": "delivered",
  });
  assert.ok("send webhook" in treeOf(collector.spans, delivery.spanId));

  const sent = collector.bodies.map(({ body }) => body.toString()).join("\n");
  for (const secret of [tenant.shopDomain, simulator.apiKey, "CaNaRy7361"])
    assert.ok(!sent.includes(secret), secret);
});

test("each request to a source is a span with host, status, and the number of earlier tries", async () => {
  const signal = AbortSignal.timeout(10_000);
  const retryPolicy = { ...RETRY_POLICY, firstDelayMs: 1, tries: 2 };
  const read = ({ status }: { status: number }) => ({ value: status });
  // Nothing listens on the first port.
  const urls = ["http://127.0.0.1:1/?key=secret", `${receiver.url}?key=secret`];
  const shop = { title: "A shop", address: "https://canary.shop.invalid", signal, retryPolicy };
  const { spans } = await traceWhile(collector, () =>
    traced({ name: "run", isRoot: true }, async () => {
      await ask({ title: "A source", signal, retryPolicy }, () => ({ url: urls.shift() ?? "" }), read);
      await assert.rejects(ask(shop, () => ({ url: `${shop.address}/admin`, method: "POST" }), read));
    }),
  );
  assert.deepEqual(
    spans.filter(({ name }) => name === "GET").map(({ attributes, isError }) => [attributes, isError]),
    [
      [
        {
          "http.request.method": "GET",
          "server.address": "127.0.0.1",
          "error.type": "no_connection",
        },
        true,
      ],
      [
        {
          "http.request.method": "GET",
          "server.address": "127.0.0.1",
          "http.request.resend_count": 1,
          "http.response.status_code": 204,
        },
        false,
      ],
    ],
  );
  assert.deepEqual(
    spans.filter(({ name }) => name === "POST").map(({ attributes }) => attributes["server.address"]),
    ["*.shop.invalid", "*.shop.invalid"],
  );
});

test("a failed run sets an error on its span, with the class of the failure", async () => {
  const tenant = await createTenant(service.database);
  await requestLabels(tenant);
  simulator.control.setApiKey(null);
  const { keys } = service;
  const { database } = service.installation;
  const environment = {
    ...workerOptions({ database, url: service.databaseUrl }, createConnectors(readConfig({}))),
    openCredentials: (shopKey: number, source: string) =>
      openCredentials({ database, sealingKey: keys.sealingKey, shopKey, source }),
  };
  const place = { shopKey: tenant.shopKey, source: "shipstation" };
  const { spans } = await traceWhile(collector, () => runNext(environment, place));
  assert.deepEqual(
    spans.filter(({ isError }) => isError).map(({ name, attributes }) => [name, attributes["error.type"]]),
    [
      ["GET", "401"],
      ["run shipstation", "SourceRefused"],
    ],
  );
  assert.equal(only(spans, "run shipstation").attributes["returns.run_status"], "failed");
});

test("without a collector nothing of OpenTelemetry's SDK is loaded", async () => {
  const folder = makeFolder();
  const file = join(folder, "loaded");
  const server = startCommand(["serve", "--no-demo"], {
    ...serviceEnvironment(service.databaseUrl),
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "support/loaded-packages.ts")}`,
    LOADED_PACKAGES_FILE: file,
  });
  await server.printed(/http:/u);
  server.child.kill("SIGTERM");
  assert.equal((await server.outcome).code, 0);
  const loaded = readFileSync(file, "utf8").match(/@opentelemetry\/[\w-]+/gu) ?? [];
  // The package of the metrics depends on the API.
  assert.deepEqual([...new Set<string>(loaded)], ["@opentelemetry/api"]);
});

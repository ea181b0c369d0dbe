import assert from "node:assert/strict";
import { request, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import type { ConsoleCaller } from "../src/actions/action.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { exportFromConsole } from "../src/actions/workspace/export.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { isCitus } from "./support/citus.ts";
import { signInAs } from "./support/console-person.ts";
import { openConnections } from "./support/database.ts";
import { startBeside } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import { DEFAULT_RETENTION, eventually } from "./support/worker.ts";
import { readZip } from "./support/zip.ts";

/** The export of everything, as the console streams it. */

const PATH = "/settings/data/export";
const ORDERS = 12_000;

const tenant = await createTenant(service.database);
await seedSmallStore(service.database, tenant.shopKey);
await service.database.query("update order_document set document = '{\"lines\": []}' where shop_key = $1", [
  tenant.shopKey,
]);
// More than the buffers on the way hold, and incompressible.
await service.database.query(
  `insert into order_document (shop_key, order_id, document)
   select $1::bigint, 'big ' || n, jsonb_build_object('orderedAt', '2025-01-05T10:00:00.000Z', 'lines', jsonb_build_array(
            jsonb_build_object('lineId', 'l1', 'title', (select string_agg(md5(n::text || k), '') from generate_series(1, 30) k))))
     from generate_series(1, ${ORDERS}) n`,
  [tenant.shopKey],
);
const cookie = await signInAs(service, { name: 'Owner "of" <b>', shopDomain: tenant.shopDomain });

const exportPath = (): string => `/w/${tenant.shopDomain}${PATH}`;
const post = (): Promise<Response> =>
  fetch(service.address + exportPath(), {
    method: "POST",
    headers: { cookie, origin: service.address },
    body: new URLSearchParams(),
  });

/** Sends a request and reads only the head of the answer. */
async function openDownload(address: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = request(`${address}${exportPath()}`, {
    method: "POST",
    headers: { cookie, origin: address, "content-type": "application/x-www-form-urlencoded" },
  });
  asked.on("response", resolve).on("error", reject).end();
  return promise;
}

async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The connections that exports currently hold. */
async function holders(): Promise<{ state: string; is_at_rest: boolean }[]> {
  const { rows } = await service.database.query<{ state: string; is_at_rest: boolean }>(
    `select state, state_change < clock_timestamp() - interval '400 milliseconds' as is_at_rest
       from pg_stat_activity
      where datname = current_database() and application_name = 'returns-exporting' and state <> 'idle'`,
  );
  return rows;
}

const until = async (condition: () => Promise<boolean>): Promise<void> =>
  void (await eventually(condition, "the connections of exports"));

const TABLES = ["products", "variants", "order_lines", "returns", "refunds", "sale_events", "return_labels"];
const OTHERS = ["README.txt", "settings.json", "members.json", "audit.json", "alerts.json"];
const FILES = [...OTHERS, ...TABLES.map((name) => `store/${name}.csv`)];

test("the archive has all files under fixed names, and contains no secret", async () => {
  await insertRows(service.database, "audit_event", [
    {
      shop_key: tenant.shopKey,
      audit_id: crypto.randomUUID(),
      actor: "operator",
      action: "watch.add",
      detail: { key: "../../<b>" },
    },
  ]);
  await service.database.query(
    "update data_source set sealed_credentials = 'sealed canary' where shop_key = $1",
    [tenant.shopKey],
  );
  const response = await post();
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/zip");
  assert.match(
    response.headers.get("content-disposition") ?? "",
    /^attachment; filename="returns-export_shop-\d+\.example_\d{4}-\d\d-\d\d\.zip"$/u,
  );
  assert.match(response.headers.get("cache-control") ?? "", /no-store/u);
  const files = readZip(Buffer.from(await response.arrayBuffer()));
  assert.deepEqual(Object.keys(files), FILES);
  assert.match(
    String(files["README.txt"]),
    /A spreadsheet runs a cell that begins with\n=, \+, - or @ as a formula/u,
  );
  const texts = Object.values(files).map(String).join("\n");
  const { rows } = await service.database.query<{ secret: string }>(
    `select encode(secret_hash, 'hex') as secret from api_token union all select encode(secret_hash, 'base64') from api_token
     union all select encode(session_hash, 'hex') from console_session union all select 'sealed canary'`,
  );
  for (const { secret } of rows) assert.ok(!texts.includes(secret));
  assert.ok(!texts.includes(tenant.token.slice(-40)));
  assert.equal(String(files["store/order_lines.csv"]).split("\r\n").length, ORDERS + 2);

  const settings = JSON.parse(String(files["settings.json"])) as Record<string, unknown>;
  assert.deepEqual(
    [settings["shop_domain"], settings["currency_code"], "shop_key" in settings],
    [tenant.shopDomain, "EUR", false],
  );
  assert.deepEqual(
    (settings["tokens"] as { name: string }[]).map(({ name }) => name),
    ["reporting", "an app"],
  );
  const members = JSON.parse(String(files["members.json"])) as { name: string; role: string }[];
  assert.ok(members.some(({ name, role }) => name === 'Owner "of" <b>' && role === "owner"));
  const audit = JSON.parse(String(files["audit.json"])) as { action: string; actor_name: string | null }[];
  const { rows: stored } = await service.database.query<{ count: number }>(
    "select count(*)::integer as count from audit_event where shop_key = $1",
    [tenant.shopKey],
  );
  // The export itself is recorded after the snapshot was taken; a Citus takes it at the node's first statement.
  assert.equal(audit.length, (stored[0]?.count ?? 0) - (isCitus() ? 0 : 1));
  assert.equal((JSON.parse(String(files["alerts.json"])) as unknown[]).length, 9);
});

test("each export is audited with who asked for it and from where", async () => {
  const { rows } = await service.database.query(
    "select u.name, a.origin, a.detail from audit_event a join console_user u on a.actor = 'user:' || u.user_id where a.shop_key = $1 and a.action = 'workspace.export'",
    [tenant.shopKey],
  );
  assert.deepEqual(rows, [
    { name: 'Owner "of" <b>', origin: "127.0.0.1", detail: { shop_domain: tenant.shopDomain } },
  ]);
});

test("an export reads only as fast as its client, and meanwhile every server refuses another of the workspace", async (context: TestContext) => {
  const other = await startBeside(context, service);
  const slow = await openDownload(service.address);
  assert.equal(slow.statusCode, 200);
  await until(async () => {
    const [held] = await holders();
    assert.ok(held !== undefined, "the whole export was made though nobody took it");
    return held.state === "idle in transaction" && held.is_at_rest;
  });
  for (const address of [service.address, other.address]) {
    const second = await openDownload(address);
    assert.equal(second.statusCode, 409);
    assert.match(
      String(await bytesOf(second)),
      /is being exported already\. Try again when that has ended\./u,
    );
  }
  const files = readZip(await bytesOf(slow));
  assert.deepEqual(Object.keys(files), FILES);
  await until(async () => (await holders()).length === 0);
});

test("a client that stops reading is disconnected, and the export's connection is released", async () => {
  const { database } = service.installation;
  const exporting = openConnections(service.databaseUrl);
  const workspace = await requireWorkspace(database, tenant.shopDomain);
  const caller = {
    database,
    exporting,
    actor: OPERATOR,
    workspace,
    now: new Date(),
    retention: DEFAULT_RETENTION,
  };
  const { body } = await exportFromConsole(caller as unknown as ConsoleCaller, 200);
  assert.equal(exporting.usage().idle, 0);
  await eventually(async () => exporting.usage().idle === exporting.usage().open, "the connection");
  await assert.rejects(buffer(body));
  await exporting.close();
});

test("a client that disconnects ends the export, and another one may begin", async () => {
  const leaving = await openDownload(service.address);
  await until(async () => (await holders()).length === 1);
  leaving.destroy();
  await until(async () => (await holders()).length === 0);
  const next = await post();
  assert.equal(next.status, 200);
  readZip(Buffer.from(await next.arrayBuffer()));
});

test("an export whose database is lost is aborted, not ended as if it were complete", async () => {
  const slow = await openDownload(service.address);
  await until(async () => (await holders()).some(({ state }) => state === "idle in transaction"));
  await service.database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'returns-exporting' and datname = current_database()",
  );
  await assert.rejects(bytesOf(slow), /aborted|ECONNRESET|terminated/u);
});

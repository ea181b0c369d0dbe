import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import type pg from "pg";
import pino from "pino";
import { createIdentity } from "../src/access/identity.ts";
import { makeLink, makePerson } from "../src/access/link.ts";
import { hashSecret } from "../src/access/secret.ts";
import { requireWorkerPlace } from "../src/actions/installation/schema.ts";
import { readConfig } from "../src/config.ts";
import { openInstallation, openServingDatabases } from "../src/installation.ts";
import type { Database } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { tryLockExport } from "../src/actions/workspace/queries.ts";
import { lockWorkspace } from "../src/store/queries/import-stage.ts";
import { findMember } from "../src/store/queries/workspace-member.ts";
import { isCitus } from "./support/citus.ts";
import { nodesOf } from "./support/cluster-database.ts";
import { createTestDatabase, openConnections, type TestDatabase } from "./support/database.ts";
import { waitOutMidnight } from "./support/midnight.ts";
import { setRole } from "./support/people.ts";
import { startServerProcess, type ServerProcess } from "./support/server-process.ts";
import { execute } from "./support/server.ts";
import { openTestPool, serviceEnvironment } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import { makeWorkspace } from "./support/workspace.ts";

/** Servers may connect to any node of a cluster, and each answers from the same database. */
const MONTHS = { start_month: "2025-01", end_month: "2026-05" };
const ASKED: readonly (readonly [path: string, params: Record<string, string>])[] = [
  ["/api/v1/summary", MONTHS],
  ["/api/v1/timeseries", MONTHS],
  ["/api/v1/entities", { q: "a" }],
  ["/api/v1/alerts", {}],
  ["/api/v1/leaderboards/return-rate", MONTHS],
];

let testDatabase: TestDatabase | null = null;
let pool: pg.Pool;
/** The coordinator, then the nodes. */
let nodeUrls: string[] = [];

before(async () => {
  if (!isCitus()) return;
  await waitOutMidnight();
  testDatabase = await createTestDatabase();
  pool = openTestPool(testDatabase.url);
  nodeUrls = [testDatabase.url, ...(await nodesOf(testDatabase.url))];
});
after(async () => {
  if (testDatabase === null) return;
  await pool.end();
  await testDatabase.drop();
});

/** false, with the reason, where there is no cluster. */
function isHere(context: TestContext): boolean {
  if (!isCitus()) context.diagnostic("needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)");
  return isCitus();
}

async function withConnections(
  urls: readonly string[],
  work: (...databases: Database[]) => Promise<void>,
): Promise<void> {
  const databases = urls.map((url) => openConnections(url, { maxConnections: 2 }));
  try {
    await work(...databases);
  } finally {
    for (const database of databases) await database.close();
  }
}

const startOnEach = (context: TestContext): Promise<ServerProcess[]> =>
  Promise.all(nodeUrls.map((url) => startServerProcess(context, url)));

test("every node gives the same answers, and together they apply the quota exactly", async (context) => {
  if (!isHere(context)) return;
  const servers = await startOnEach(context);
  const shop = await createSmallStore(pool);
  for (const [path, params] of ASKED) {
    const answers: unknown[] = [];
    for (const server of servers) {
      const answer = await server.call(path, { token: shop.token, params });
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
      answers.push(answer.json().data);
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0], path);
  }
  const limited = await createTenant(pool, { dailyQuota: 1000 });
  await insertRows(pool, "daily_usage", [
    { shop_key: limited.shopKey, day: new Date().toISOString().slice(0, 10), requests: 900 },
  ]);
  const statuses = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      const server = servers[index % servers.length] as ServerProcess;
      return (await server.call("/api/v1/alerts", { token: limited.token })).status;
    }),
  );
  assert.equal(statuses.filter((status) => status === 200).length, 100);
  assert.equal(statuses.filter((status) => status === 429).length, 200);
});

test("through every node, a shop's locks and shop keys come from one place", async (context) => {
  if (!isHere(context)) return;
  const { shopKey } = await createTenant(pool);
  await withConnections(nodeUrls, async (coordinator, ...nodes) => {
    const [node = coordinator] = nodes;
    const created: number[] = [];
    for (const [index, database] of [coordinator, ...nodes, coordinator].entries()) {
      await makeWorkspace(database, `node-${index}.example`);
      const { rows } = await pool.query<{ key: string }>(
        "select shop_key as key from shop_directory where shop_domain = $1",
        [`node-${index}.example`],
      );
      created.push(Number(rows[0]?.key));
    }
    assert.deepEqual(
      created,
      created.map((_, index) => (created[0] ?? 0) + index),
    );
    for (const [holder, other] of [
      [coordinator, node],
      [node, coordinator],
    ] as const) {
      await holder.transaction(async (held) => {
        await lockWorkspace(held, shopKey);
        assert.equal(await tryLockExport(held, shopKey), true);
        assert.equal(await other.transaction((connection) => tryLockExport(connection, shopKey)), false);
        const waiting = new AbortController();
        const second = other.transaction(
          (connection) => lockWorkspace(connection, shopKey, () => waiting.abort(new Error("it waits"))),
          waiting.signal,
        );
        await assert.rejects(second, /it waits/u);
      });
      await other.transaction((connection) => lockWorkspace(connection, shopKey));
    }
  });
});

/** Opens what a server opens at its start. */
async function openAsServer(url: string): Promise<void> {
  const config = readConfig(serviceEnvironment(url));
  const installation = await openInstallation(config, () => {});
  try {
    const databases = await openServingDatabases(config, installation, pino({ enabled: false }));
    await databases.close();
  } finally {
    await installation.close();
  }
}

test("no server starts on a node that may not read the views; a migration grants the right", async (context) => {
  if (!isHere(context)) return;
  const [coordinator = "", node = ""] = nodeUrls;
  await openAsServer(node);
  // What a node lacks that joins the cluster later.
  await execute(
    node,
    "set citus.enable_ddl_propagation = off; revoke select on all tables in schema one_shop from public",
  );
  await openAsServer(coordinator);
  await assert.rejects(openAsServer(node), /may not read the views in the schema one_shop/u);
  await migrate({ url: coordinator });
  await openAsServer(node);
});

test("a worker is refused on a node", async (context) => {
  if (!isHere(context)) return;
  await withConnections(nodeUrls, async (coordinator, node) => {
    await requireWorkerPlace(coordinator);
    await assert.rejects(requireWorkerPlace(node), /Workers need the coordinator/u);
  });
});

test("if a node is lost, people sign in and see their workspaces on the other nodes, through each of them", async (context) => {
  if (!isHere(context)) return;
  const lost = nodeUrls.at(-1) ?? "";
  const left = nodeUrls.slice(0, -1);
  const name = new URL(lost).pathname.slice(1);
  const { port } = new URL(lost);
  const { rows } = await pool.query<{ key: string }>(
    `select d.key from generate_series(100000, 100200) d (key)
       join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('workspace', d.key)
       join pg_dist_node n using (groupid) where n.nodeport <> $1 limit 1`,
    [port],
  );
  const shopKey = Number(rows[0]?.key);
  await pool.query(
    "insert into shop_directory (shop_domain, shop_key) overriding system value values ('healthy.example', $1)",
    [shopKey],
  );
  await loseNode(lost, name);
  try {
    for (const url of left) {
      await withConnections([url], async (database) => {
        if (database === undefined) return;
        const identity = createIdentity(database, () => new Date(), Buffer.alloc(32));
        const personName = `Ada at ${new URL(url).port}`;
        const { user_id: userId } = await database.transaction((connection) =>
          makePerson(connection, personName, new Date()),
        );
        await setRole(pool, { shopKey }, { userId }, "owner");
        const { secret } = await database.transaction((connection) =>
          makeLink(connection, { userId, purpose: "enter", now: new Date() }),
        );
        const signedIn = await identity.signIn({ way: "link", secret, oldSessionHash: null, origin: null });
        assert.equal(signedIn.outcome, "signed_in");
        const sessionHash = hashSecret(signedIn.outcome === "signed_in" ? signedIn.session : "") as Buffer;
        const member = await findMember(database, { sessionHash, shopDomain: "healthy.example" }, null);
        assert.equal(member !== "signed_out" && member.role !== null && member.shopKey, shopKey);
        assert.equal((await identity.readSession(sessionHash))?.name, personName);
      });
    }
  } finally {
    await execute(maintenance(lost), `alter database ${name} allow_connections true`);
  }
});

const maintenance = (url: string): string => Object.assign(new URL(url), { pathname: "/postgres" }).href;

/** From now on this database cannot reach the node. */
async function loseNode(url: string, name: string): Promise<void> {
  await execute(maintenance(url), `alter database ${name} allow_connections false`);
  await execute(
    maintenance(url),
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
  );
}

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isCitus } from "../../tests/support/citus.ts";
import { createTestDatabase, openConnections, type TestDatabase } from "../../tests/support/database.ts";
import { execute } from "../../tests/support/server.ts";
import type { DatabasePool, Queryable } from "./database.ts";
import { openNodeDatabases, type NodeDatabases } from "./node-databases.ts";

/** On a Citus the nodes are real; elsewhere a catalogue of its own calls the test's database node 1. */
const NODE = 1;
const UNKNOWN_NODE = 99;
const STRANGER = 2;
const RETRY_MS = 100;

let testDatabase: TestDatabase;
let coordinator: DatabasePool;
let nodes: NodeDatabases;
before(async () => {
  testDatabase = await createTestDatabase();
  const { url } = testDatabase;
  if (!isCitus()) await pretendNodes(url);
  coordinator = openConnections(url, { applicationName: "test-coordinator", maxConnections: 2 });
  nodes = openNodeDatabases({
    coordinator,
    url,
    open: (nodeUrl) => openConnections(nodeUrl, { applicationName: "test-node" }),
    retryMs: RETRY_MS,
  });
});
after(async () => {
  await nodes.close();
  await coordinator.close();
  await testDatabase.drop();
});

/** Both at the same address; it is node 1 that answers there. */
async function pretendNodes(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  await execute(
    url,
    `create table pg_dist_node as
       select g as groupid, '${hostname}' as nodename, ${port || 5432} as nodeport, 'primary' as noderole,
              true as isactive, true as hasmetadata, true as metadatasynced
         from unnest(array[${NODE}, ${STRANGER}]) g`,
  );
  await execute(url, `create table pg_dist_local_group as select ${NODE} as groupid`);
}

async function nameOf(database: Queryable): Promise<string | undefined> {
  const text = "select current_setting('application_name') as name";
  const [row] = await database.rows<{ name: string }>({ name: "application_name", text }, []);
  return row?.name;
}

/** Asks again until the node itself answers; the test's own time limit ends the wait otherwise. */
async function untilDirect(): Promise<void> {
  while (nodes.of(NODE) === coordinator) await sleep(RETRY_MS / 10);
}

test("the coordinator answers for a node until the node itself has answered", async () => {
  assert.equal(nodes.of(NODE), coordinator);
  await untilDirect();
  assert.equal(await nameOf(nodes.of(NODE)), "test-node");
});

test("a node whose connection is lost is left to the coordinator, then tried again", async () => {
  await untilDirect();
  const lost = nodes.of(NODE);
  const text = "select pg_terminate_backend(pg_backend_pid())";
  await assert.rejects(lost.rows({ name: "end_connection", text }, []));
  assert.equal(nodes.of(NODE), coordinator);
  await untilDirect();
  assert.equal(await nameOf(nodes.of(NODE)), "test-node");
});

test("a snapshot leaves the node when its connection is lost, not when its work throws", async () => {
  await untilDirect();
  const refusal = new Error("refused");
  const refusing = nodes.of(NODE).snapshot(1, () => Promise.reject(refusal));
  await assert.rejects(refusing, refusal);
  assert.notEqual(nodes.of(NODE), coordinator);
  const text = "select pg_terminate_backend(pg_backend_pid())";
  const losing = nodes.of(NODE).snapshot(1, (own) => own.rows({ name: "end_connection", text }, []));
  await assert.rejects(losing);
  assert.equal(nodes.of(NODE), coordinator);
});

test("a node that the catalogue does not name stays with the coordinator", async () => {
  for (let tries = 0; tries < 3; tries += 1) {
    assert.equal(nodes.of(UNKNOWN_NODE), coordinator);
    await sleep(RETRY_MS);
  }
});

test("an address at which another node answers is not used", async (context) => {
  if (isCitus()) {
    context.diagnostic("the nodes of a Citus are where its catalogue says");
    return;
  }
  for (let tries = 0; tries < 3; tries += 1) {
    assert.equal(nodes.of(STRANGER), coordinator);
    await sleep(RETRY_MS);
  }
});

test("a node that the catalogue no longer names is left to the coordinator", async (context) => {
  if (isCitus()) {
    context.diagnostic("the nodes of a Citus are where its catalogue says");
    return;
  }
  await untilDirect();
  await execute(testDatabase.url, `update pg_dist_node set isactive = false where groupid = ${NODE}`);
  while (nodes.of(NODE) !== coordinator) await sleep(RETRY_MS / 10);
  await sleep(2 * RETRY_MS);
  assert.equal(nodes.of(NODE), coordinator);
  await execute(testDatabase.url, `update pg_dist_node set isactive = true where groupid = ${NODE}`);
  await untilDirect();
});

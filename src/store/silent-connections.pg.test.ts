import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestDatabase, openConnections, type TestDatabase } from "../../tests/support/database.ts";
import type { Database } from "./database.ts";

const STATEMENT_TIMEOUT_MS = 300;
const ONE = { name: "one", text: "select 1 as one" };
const SLEEP = { name: "sleep", text: "select pg_sleep($1)" };

let testDatabase: TestDatabase;
before(async () => {
  testDatabase = await createTestDatabase();
});
after(() => testDatabase.drop());

type Relayed = { database: Database; silence: () => void; connections: () => number };

/** A database behind a relay whose first connection can fall silent: it takes all bytes, and lets none through. */
async function openRelayed(context: TestContext): Promise<Relayed> {
  const target = new URL(testDatabase.url);
  const open = new Set<Socket>();
  let isSilent = false;
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const isFirst = connections === 1;
    const upstream = connect({ host: target.hostname, port: Number(target.port) });
    const passOn = (from: Socket, to: Socket): void => {
      open.add(from);
      from.on("data", (bytes) => {
        if (!(isFirst && isSilent)) to.write(bytes);
      });
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    };
    passOn(client, upstream);
    passOn(upstream, client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  const database = openConnections(url.href, {
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: "returns-silent",
  });
  context.after(async () => {
    await database.close();
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { database, silence: () => void (isSilent = true), connections: () => connections };
}

test("a statement that the server never answers is given up, and the next has a new connection", async (context) => {
  const { database, silence, connections } = await openRelayed(context);
  assert.deepEqual(await database.rows(ONE, []), [{ one: 1 }]);
  silence();
  await assert.rejects(database.rows(ONE, []), /Connection terminated/u);
  assert.deepEqual(await database.rows(ONE, []), [{ one: 1 }]);
  assert.equal(connections(), 2);
});

test("a transaction on a connection that falls silent is rejected, and the next has a new one", async (context) => {
  const { database, silence, connections } = await openRelayed(context);
  const work = database.transaction(async (connection) => {
    await connection.rows(ONE, []);
    silence();
    await connection.rows(ONE, []);
  });
  await assert.rejects(work, /Connection terminated/u);
  assert.deepEqual(await database.transaction((connection) => connection.rows(ONE, [])), [{ one: 1 }]);
  assert.equal(connections(), 2);
});

test("a transaction may take longer than a statement: several that are quick enough", async (context) => {
  const { database, connections } = await openRelayed(context);
  await database.transaction(async (connection) => {
    for (let asked = 0; asked < 30; asked += 1) await connection.rows(SLEEP, [0.05]);
    await sleep(STATEMENT_TIMEOUT_MS + 1500);
    assert.deepEqual(await connection.rows(ONE, []), [{ one: 1 }]);
  });
  assert.equal(connections(), 1);
});

test("a statement that is only slow is canceled by the server, whose error arrives", async (context) => {
  const { database } = await openRelayed(context);
  await assert.rejects(database.rows(SLEEP, [5]), { code: "57014" });
});

test("an idle connection is never closed", async (context) => {
  const { database, connections } = await openRelayed(context);
  await database.rows(ONE, []);
  await sleep(2 * (STATEMENT_TIMEOUT_MS + 1000));
  await database.rows(ONE, []);
  assert.equal(connections(), 1);
});

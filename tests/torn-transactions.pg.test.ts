import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { createWorkspace, deleteWorkspace } from "../src/actions/workspace/actions.ts";
import type { Database } from "../src/store/database.ts";
import { isCitus } from "./support/citus.ts";
import { openControlDatabase } from "./support/control.ts";
import { eventually } from "./support/worker.ts";
import { operatorOf } from "./support/workspace.ts";
import { textInput } from "../src/actions/field.ts";
import { readList, runAction } from "../src/actions/action.ts";
import { before, use } from "./support/use.ts";
import { createWorkspaceNodes } from "../src/access/workspace-nodes.ts";
import { startUsageWriter } from "../src/access/usage-count.ts";
import { createUser, renameUser } from "../src/actions/people/actions.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { auditListOfAll } from "../src/actions/audit/audit.ts";
import { loseWorkspace } from "./support/lost-workspaces.ts";
import { createTenant } from "./support/tenants.ts";

/**
 * A workspace has rows on its node, and its domain is on the coordinator. A transaction on both is interrupted between them: the
 * recovery that Citus runs once a minute leaves the whole workspace or nothing.
 */

const control = use(openControlDatabase);
let database: Database;

before(async () => {
  ({ database } = control);
});

/** What is lost: the answer to the first phase, or the second phase. */
type Cut = "answer" | "second phase";

type Relay = { port: number; isCut(this: void): boolean; stop(this: void): void };

/**
 * A relay to a node, which breaks the connection of a transaction that the node has prepared. The traffic is encrypted, so before
 * each answer the relay queries the node for prepared transactions.
 */
async function startRelay(node: pg.Client, port: number, cut: Cut): Promise<Relay> {
  let isPrepared = false;
  let isCut = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection({ host: "127.0.0.1", port });
    sockets.add(client).add(upstream);
    const end = (): void => {
      isCut = true;
      client.destroy();
      upstream.destroy();
    };
    client.on("data", (bytes) => {
      if (isPrepared) end();
      else upstream.write(bytes);
    });
    const pass = async (bytes: string | Buffer): Promise<void> => {
      const { rows } = await node.query("select from pg_prepared_xacts where database = current_database()");
      isPrepared ||= rows.length > 0;
      if (isPrepared && cut === "answer") end();
      else client.write(bytes);
    };
    let passing = Promise.resolve();
    upstream.on("data", (bytes) => {
      passing = passing.then(() => pass(bytes));
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    isCut: () => isCut,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Runs `act` on relays to the nodes; returns whether one has cut it off. */
async function cutOff(cut: Cut, act: () => Promise<unknown>): Promise<boolean> {
  const { rows: nodes } = await control.pool.query<{ id: number; port: number }>(
    "select nodeid as id, nodeport as port from pg_dist_node where shouldhaveshards order by nodeid",
  );
  const setPort = (id: number, port: number): Promise<unknown> =>
    control.pool.query("update pg_dist_node set nodeport = $2 where nodeid = $1", [id, port]);
  const relays = await Promise.all(
    nodes.map(async ({ id, port }) => {
      const client = new pg.Client({
        connectionString: Object.assign(new URL(control.url), { port: String(port) }).href,
      });
      await client.connect();
      const relay = await startRelay(client, port, cut);
      await setPort(id, relay.port);
      return { ...relay, client };
    }),
  );
  try {
    await act();
    return relays.some(({ isCut }) => isCut());
  } finally {
    for (const { id, port } of nodes) await setPort(id, port);
    for (const { stop, client } of relays) {
      stop();
      await client.end();
    }
  }
}

/** Ends prepared transactions, as Citus does once a minute: not before their transaction has ended on the coordinator. */
async function settle(): Promise<void> {
  const isSettled = async (): Promise<boolean> => {
    await control.pool.query("select recover_prepared_transactions()");
    const { rows } = await control.pool.query<{ prepared: number }>(
      `select sum(result::integer)::integer as prepared from run_command_on_workers(
         'select count(*) from pg_prepared_xacts where database = current_database()')`,
    );
    return rows[0]?.prepared === 0;
  };
  await eventually(isSettled, "nothing is prepared any more");
}

async function rowsOf(domain: string): Promise<{ directory: number; workspace: number }> {
  const count = async (table: string): Promise<number> =>
    (await control.pool.query(`select 1 from ${table} where shop_domain = $1`, [domain])).rows.length;
  return { directory: await count("shop_directory"), workspace: await count("workspace") };
}

/** Creates a workspace without reading the result, which may be partial. */
const create = (domain: string): Promise<unknown> =>
  runAction(
    createWorkspace,
    { database, actor: OPERATOR, now: new Date() },
    textInput({ domain, currency: "EUR" }),
  );

const erase = async (domain: string): Promise<unknown> => {
  const workspace = await requireWorkspace(database, domain);
  return runAction(deleteWorkspace, operatorOf(database, workspace), textInput({}));
};

const NOTHING = { directory: 0, workspace: 0 };
const ALL = { directory: 1, workspace: 1 };

for (const cut of ["answer", "second phase"] as const) {
  test(`if the ${cut} is lost, a workspace is created completely or not at all, and erased completely or not at all`, async (context: TestContext) => {
    if (!isCitus()) return context.diagnostic("needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)");
    const isDone = cut === "second phase";
    const ending = (act: Promise<unknown>): Promise<unknown> => (isDone ? act : assert.rejects(act));
    const name = cut.replace(" ", "-");
    const created = `created-${name}.example`;
    assert.equal(await cutOff(cut, () => ending(create(created))), true);
    await settle();
    assert.deepEqual(await rowsOf(created), isDone ? ALL : NOTHING);

    const erased = `erased-${name}.example`;
    await create(erased);
    assert.equal(await cutOff(cut, () => ending(erase(erased))), true);
    await settle();
    assert.deepEqual(await rowsOf(erased), isDone ? NOTHING : ALL);
    // Afterwards the next action works.
    await (isDone ? create(erased) : erase(erased));
  });
}

/** What servers and operators write for all shops, while the rows of one are unreachable. */

/** Enough shops to have some on each node of a cluster. */
async function createShops(): Promise<number[]> {
  const shopKeys: number[] = [];
  for (let made = 0; made < 8; made += 1) shopKeys.push((await createTenant(control.pool)).shopKey);
  return shopKeys;
}

test("while a shop is unreachable the usage of others is written, and its own completely afterwards", async () => {
  const shopKeys = await createShops();
  const { lost, others, find } = await loseWorkspace(control.pool, shopKeys);
  const warnings: object[] = [];
  const usage = startUsageWriter({
    database,
    nodeOfWorkspace: isCitus()
      ? createWorkspaceNodes(database)
      : (shopKey) => Promise.resolve({ node: shopKey, shard: shopKey }),
    log: { warn: (detail) => void warnings.push(detail) },
    intervalMs: 50,
  });
  const day = "2026-11-22";
  const ask = (some: readonly number[]): void => {
    for (const shopKey of some) {
      const caller = { shopKey, tokenId: `token-${shopKey}`, day };
      usage.count(caller, { endpoint: "summary", surface: "rest" }, "ok", true);
    }
  };
  const writtenOf = async (some: readonly number[]): Promise<number> => {
    const text =
      "select coalesce(sum(requests), 0)::integer as requests from usage_detail where shop_key = any($1)";
    return (await control.pool.query<{ requests: number }>(text, [some])).rows[0]?.requests ?? 0;
  };
  try {
    ask(shopKeys);
    await eventually(async () => warnings.length > 1, "two times it could not be written");
    await eventually(async () => (await writtenOf(others)) === others.length, "the usage of others");
    ask(lost);
  } finally {
    await find();
  }
  await usage.stop();
  assert.equal(await writtenOf(lost), 2 * lost.length);
  assert.equal(await writtenOf(others), others.length);
  assert.deepEqual(
    warnings.map((detail) => ({ ...detail, err: null })),
    warnings.map(() => ({ err: null, workspaces: lost.length, dropped_requests: 0 })),
  );
});

/** A key that some node would have, too. */
const NO_SHOP = 0;

test("actions on the installation need no node: any of them may be lost", async () => {
  const { lost, others, find } = await loseWorkspace(control.pool, [NO_SHOP, ...(await createShops())]);
  assert.ok(lost.includes(NO_SHOP) && others.length > 0);
  const caller = { database, actor: OPERATOR, now: new Date() };
  try {
    const { result } = await runAction(createUser, caller, textInput({ name: "Meanwhile" }));
    await runAction(renameUser, caller, textInput({ person: result.user_id, new_name: "Afterwards" }));
  } finally {
    await find();
  }
  const events = await readList(auditListOfAll, caller, undefined, { after: null, limit: 2 });
  assert.deepEqual(
    events.map(({ action, workspace }) => [action, workspace]),
    [
      ["user.rename", null],
      ["user.create", null],
    ],
  );
});

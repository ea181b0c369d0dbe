import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "./support/command.ts";
import { createTestDatabase } from "./support/database.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { openTestPool, serviceEnvironment, startOn, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { eventually } from "./support/worker.ts";

/** A rotation of the root secret on two servers under constant load. */

const SECOND_SECRET = "the second secret of tests of 32 characters or more";
const BOTH = `${SECOND_SECRET},${TEST_SECRET}`;
const ENTITIES = "/api/v1/entities";
/** Pause between the requests of one client, so that the test's other work is not starved. */
const PAUSE_MS = 50;

async function command(url: string, words: readonly string[], secrets: string) {
  const environment = { ...serviceEnvironment(url), RETURNS_SECRET: secrets };
  const { code, stdout, stderr } = await runCommand([...words, "--json"], environment);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

type Load = {
  /** Resolves once all requests sent so far are answered. */
  settled(): Promise<void>;
  /** Returns how often each status came. */
  stop(): Promise<Map<number, number>>;
};

/** Sends requests to the servers with every token, until stopped. */
function startLoad(servers: readonly TestService[], tokens: readonly string[]): Load {
  const statuses = new Map<number, number>();
  const done = [0, 0, 0];
  const stopping = new AbortController();
  const ask = async (_: number, asker: number): Promise<void> => {
    for (let round = asker; !stopping.signal.aborted; round += 1) {
      const server = servers[round % servers.length] as TestService;
      const token = tokens[Math.floor(round / servers.length) % tokens.length] ?? "";
      const response = await fetch(`${server.address}${ENTITIES}?limit=1`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.arrayBuffer();
      await sleep(PAUSE_MS);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      done[asker] = (done[asker] ?? 0) + 1;
    }
  };
  const asking = Promise.all(done.map(ask));
  return {
    settled: async () => {
      const before = [...done];
      const isSettled = (): boolean => done.every((count, asker) => count > (before[asker] ?? 0));
      await eventually(async () => isSettled(), "the requests of before are answered", 30);
    },
    stop: async () => {
      stopping.abort();
      await asking;
      return statuses;
    },
  };
}

test("a rotation on two servers under load, in any order: every token and cursor stays valid", async (context) => {
  const database = await createTestDatabase();
  const { url } = database;
  const pool = openTestPool(url);
  const servers: TestService[] = [];
  context.after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await pool.end();
    await database.drop();
  });
  const tenant = await createSmallStore(pool, { dailyQuota: null });
  const create = [
    "token",
    "create",
    "--workspace",
    tenant.shopDomain,
    "--scopes",
    "read:dashboard",
    "--name",
  ];
  const newToken = async (name: string, secrets: string): Promise<string> =>
    String((await command(url, [...create, name], secrets))["token"]);

  const start = (secrets: string): Promise<TestService> =>
    startOn({ url, drop: async () => {} }, { RETURNS_SECRET: secrets });
  servers.push(await start(TEST_SECRET), await start(TEST_SECRET));
  const tokens = [tenant.token, await newToken("before", TEST_SECRET)];
  const load = startLoad(servers, tokens);
  const restart = async (place: number, secrets: string): Promise<void> => {
    const replaced = servers[place] as TestService;
    servers[place] = await start(secrets);
    await load.settled();
    await replaced.stop();
    tokens.push(await newToken(`server ${place}, ${tokens.length}`, secrets));
  };
  const firstPage = await servers[0]?.call(ENTITIES, {
    params: { limit: 1 },
    token: tenant.token,
    isUnlimited: true,
  });
  const cursor = String(firstPage?.json().meta["next_cursor"]);

  await restart(1, BOTH);
  await restart(0, TEST_SECRET);
  const nextPage = await servers[1]?.call(ENTITIES, {
    params: { limit: 1, cursor },
    token: tokens[1] as string,
    isUnlimited: true,
  });
  assert.equal(nextPage?.status, 200, "a cursor of the one server is the other's, too");
  await restart(0, BOTH);
  await restart(1, SECOND_SECRET);
  await assert.rejects(start(TEST_SECRET), /^Refusal: The secret is not one of this database's/u);
  await restart(0, SECOND_SECRET);
  for (const token of tokens) {
    for (const server of servers) {
      const answer = await server.call(ENTITIES, { params: { limit: 1 }, token, isUnlimited: true });
      assert.equal(answer.status, 200);
    }
  }
  const statuses = await load.stop();
  assert.deepEqual([...statuses.keys()], [200]);
  context.diagnostic(`${statuses.get(200)} requests`);
});

import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import { use } from "../../tests/support/use.ts";
import type { Connection } from "./database.ts";
import { createStreams, StreamsBusy } from "./snapshot-stream.ts";

const PIECE = new Uint8Array(100_000);
const SHOP = 7;

const control = use(() => openControlDatabase({ maxConnections: 3 }));

/** Pieces that each ask the database first, so that a lost connection is noticed. */
async function* piecesOf({ client }: Connection, count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    await client.query("select 1");
    yield PIECE;
  }
}

const streamsOf = (limits: { longestMs?: number; stallMs?: number }) =>
  createStreams(control.database, { longestMs: 60_000, stallMs: 60_000, ...limits });
const many = (connection: Connection) => Promise.resolve(piecesOf(connection, 1000));

async function isIdle(): Promise<boolean> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { open, idle } = control.database.usage();
    if (open === idle) return true;
    await sleep(20);
  }
  return false;
}

test("a stream that is read has every byte, and releases its connection", async () => {
  const body = await streamsOf({})(SHOP, (connection) => Promise.resolve(piecesOf(connection, 20)));
  assert.equal((await buffer(body)).length, 20 * PIECE.length);
  assert.ok(await isIdle());
});

test("a shop has two streams at once, another shop its own, and the pool no more than its connections", async () => {
  const open = streamsOf({});
  const first = await open(SHOP, many);
  const second = await open(SHOP, many);
  await assert.rejects(
    open(SHOP, many),
    (error) => error instanceof StreamsBusy && /already/u.test(error.message),
  );
  const other = await open(SHOP + 1, many);
  await assert.rejects(
    open(SHOP + 2, many),
    (error) => error instanceof StreamsBusy && /now/u.test(error.message),
  );
  first.destroy();
  for (let tries = 0; tries < 100 && control.database.usage().idle === 0; tries += 1) await sleep(20);
  const third = await open(SHOP, many);
  for (const body of [second, other, third]) body.destroy();
  assert.ok(await isIdle());
});

test("a reader that takes nothing, or takes too long, is cut off and its connection is free", async () => {
  for (const limits of [{ stallMs: 150 }, { longestMs: 150 }]) {
    const body = await streamsOf(limits)(SHOP, many);
    const startedAt = performance.now();
    await assert.rejects(async () => {
      const waitMs = limits.stallMs === undefined ? 20 : 2000;
      for await (const piece of body) await sleep(waitMs, piece);
    });
    assert.ok(performance.now() - startedAt < 5000);
    assert.ok(await isIdle());
  }
});

test("a database that is lost, and whatever fails after the first piece, ends the stream with an error", async () => {
  const killed = await streamsOf({})(SHOP, async (connection) => {
    const { rows } = await connection.client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return (async function* () {
      yield PIECE;
      await control.database.transaction(({ client }) =>
        client.query("select pg_terminate_backend($1)", [rows[0]?.pid]),
      );
      yield* piecesOf(connection, 10);
    })();
  });
  await assert.rejects(buffer(killed));
  assert.ok(await isIdle());
});

test("what fails before the first piece is thrown, not streamed", async () => {
  await assert.rejects(
    streamsOf({})(SHOP, async ({ client }) => {
      await client.query("select * from no_such_table");
      return piecesOf({ client } as Connection, 1);
    }),
    /no_such_table/u,
  );
  assert.ok(await isIdle());
});

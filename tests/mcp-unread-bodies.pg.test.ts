import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { createAdmit } from "../src/access/admit.ts";
import { createMcpRoutes } from "../src/mcp/transport.ts";
import type { Flood, FloodPlan } from "./support/body-flood.ts";
import { MCP_PATH, expectError, post, rpc, toolCall, withServer } from "./support/mcp.ts";
import { openRaw } from "./support/raw-http.ts";
import { service } from "./support/shared-service.ts";
import { countedRequests, createTenant } from "./support/tenants.ts";

const LIMIT_BYTES = 65_536;
/** The most bytes of a refused body that a connection may read: a few buffers. */
const MOST_READ_BYTES = 4 * LIMIT_BYTES;

/** The server's side of each connection with a request. */
const accepted = new Set<Socket>();
const noteRequest = (event: unknown): void =>
  void accepted.add((event as { request: IncomingMessage }).request.socket);

subscribe("http.server.request.start", noteRequest);
const tenant = await createTenant(service.database);
after(async () => {
  unsubscribe("http.server.request.start", noteRequest);
});
beforeEach(() => accepted.clear());

const headOf = (framing: string, token?: string): string =>
  [
    `POST ${MCP_PATH} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/json",
    framing,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    "\r\n",
  ].join("\r\n");
const CHUNKED = "Transfer-Encoding: chunked";
const declared = (bytes: number): string => `Content-Length: ${bytes}`;

const mostRead = (): number => Math.max(...[...accepted].map((socket) => socket.bytesRead));

/** Sends chunks endlessly, as fast as they are accepted, until the connection closes. */
async function sendEndless(framing: string, token?: string): Promise<number> {
  const connection = await openRaw(service.address);
  const { socket } = connection;
  const chunk = `8000\r\n${"1".repeat(0x8000)}\r\n`;
  const fill = (): void => {
    while (socket.writable && socket.write(chunk));
  };
  connection.send(headOf(framing, token));
  socket.on("drain", fill);
  fill();
  const { status, headers } = await connection.answer();
  assert.match(headers, /connection: close/u);
  await new Promise<void>((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
  return status;
}

describe("a caller is refused before the body is read", { timeout: 60_000 }, () => {
  test("no token: the answer is sent although the body never arrives, of whatever size", async () => {
    for (const framing of [declared(1), declared(200), declared(LIMIT_BYTES), CHUNKED]) {
      const connection = await openRaw(service.address);
      connection.send(headOf(framing));
      const { status, body } = await connection.answer();
      assert.equal(status, 401);
      assert.match(body, /^\{"jsonrpc":"2.0","id":null,"error":\{"code":-32001,/u);
      connection.close();
    }
  });

  test("unknown token, inactive billing or no api_access: the same", async () => {
    const unpaid = await createTenant(service.database, { billingStatus: "inactive" });
    const unentitled = await createTenant(service.database, { entitlements: ["data_export"] });
    const gone = await createTenant(service.database);
    await service.database.query("delete from api_token where token_id = $1", [gone.tokenId]);
    const cases = [
      [unpaid, 403],
      [unentitled, 403],
      [gone, 401],
    ] as const;
    for (const [{ token }, expected] of cases) {
      const connection = await openRaw(service.address);
      connection.send(headOf(CHUNKED, token));
      assert.equal((await connection.answer()).status, expected);
      connection.close();
    }
  });

  test("a declared size beyond the limit is 413 with or without a token, although the body never arrives", async () => {
    for (const token of [undefined, tenant.token]) {
      const connection = await openRaw(service.address);
      connection.send(headOf(declared(LIMIT_BYTES + 1), token));
      const { status, headers } = await connection.answer();
      assert.equal(status, 413);
      assert.match(headers, /connection: close/u);
      connection.close();
    }
  });

  test("an endless body is cut off, with a token at the limit", async () => {
    assert.equal(await sendEndless(CHUNKED), 401);
    assert.equal(await sendEndless(CHUNKED, tenant.token), 413);
    assert.equal(await sendEndless(declared(1e12)), 413);
    assert.ok(mostRead() <= MOST_READ_BYTES, `${mostRead()} bytes were read`);
  });
});

describe("connections", { timeout: 60_000 }, () => {
  test("a connection with a short refused body can be used again", async () => {
    const connection = await openRaw(service.address);
    const text = JSON.stringify(rpc("ping"));
    connection.send(headOf(declared(LIMIT_BYTES)));
    assert.equal((await connection.answer()).status, 401);
    connection.send("x".repeat(LIMIT_BYTES));
    connection.send(headOf(declared(text.length), tenant.token) + text);
    const { status, body } = await connection.answer();
    assert.equal(status, 200);
    assert.equal(body, '{"jsonrpc":"2.0","id":1,"result":{}}');
    connection.close();
  });

  test("fetch gets the refusal of a large body, not a broken connection, and can continue", async () => {
    const large = "1".repeat(20_000_000);
    for (let turn = 0; turn < 2; turn += 1) {
      expectError(await post(service.address, large), 413, -32600, null);
      expectError(await post(service.address, large.slice(0, LIMIT_BYTES)), 401, -32001, null);
      const answer = await post(service.address, rpc("ping"), { token: tenant.token });
      assert.deepEqual(answer.message.result, {});
    }
  });

  test("fetch gets the refusal of a stream", async () => {
    const chunk = new Uint8Array(100_000).fill(0x31);
    for (const [authorization, status] of [
      ["", 401],
      [`Bearer ${tenant.token}`, 413],
    ] as const) {
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
      const headers = { "content-type": "application/json", authorization };
      const options: RequestInit = { method: "POST", headers, body, duplex: "half" };
      const answer = await fetch(`${service.address}${MCP_PATH}`, options);
      assert.equal(answer.status, status);
      await answer.text();
    }
  });

  test("bodies that other paths refuse are not read to the end either", async () => {
    const connection = await openRaw(service.address);
    connection.send(headOf(CHUNKED).replace(MCP_PATH, "/nowhere"));
    const { status, headers } = await connection.answer();
    assert.equal(status, 404);
    assert.match(headers, /connection: close/u);
    connection.close();
  });
});

describe("an admitted caller", { timeout: 60_000 }, () => {
  test("a stalled body is 408 after the time limit, and its connection ends", async () => {
    const { keys } = service;
    const { database } = service.installation;
    const admit = createAdmit({ database, pepper: keys.tokenPepper });
    const routes = createMcpRoutes({
      operations: [],
      admit,
      allowedOrigins: [],
      publicOrigin: null,
      bodyTimeoutMs: 20,
    });
    await withServer({ operations: [], routeGroups: [routes] }, async (address) => {
      for (const framing of [declared(200), CHUNKED]) {
        const connection = await openRaw(address);
        connection.send(`${headOf(framing, tenant.token)}1`);
        const { status, headers, body } = await connection.answer();
        assert.equal(status, 408);
        assert.match(headers, /connection: close/u);
        assert.match(body, /"id":null,"error":\{"code":-32600,/u);
        connection.close();
      }
    });
  });

  test("a call is counted once, whether its body is short, long or in pieces", async () => {
    const limited = await createTenant(service.database, { dailyQuota: 10 });
    const long = toolCall("list_entities", { q: "x", unknown: "x".repeat(20_000) });
    for (const [index, body] of [toolCall("list_entities"), long].entries()) {
      const answer = await post(service.address, body, { token: limited.token });
      assert.equal(answer.message.result?.["isError"] !== undefined, true, answer.text);
      assert.equal(answer.headers.get("x-ratelimit-remaining"), String(9 - index));
    }
    const connection = await openRaw(service.address);
    const text = JSON.stringify(toolCall("list_entities"));
    connection.send(headOf(CHUNKED, limited.token));
    for (const character of text) connection.send(`1\r\n${character}\r\n`);
    connection.send("0\r\n\r\n");
    const { status, headers } = await connection.answer();
    assert.equal(status, 200);
    assert.match(headers, /x-ratelimit-remaining: 7/u);
    connection.close();
    assert.equal(await countedRequests(service.database, limited), 3);
  });
});

test("of four connections that send large bodies without a token none is read, and another tenant is answered", async (t) => {
  const plan: FloodPlan = {
    port: Number(new URL(service.address).port),
    path: MCP_PATH,
    connections: 4,
    bodyBytes: 1_000_000,
  };
  const attack = fork(join(import.meta.dirname, "support", "body-flood.ts"), [JSON.stringify(plan)]);
  const result = once(attack, "message") as Promise<[Flood]>;
  while (accepted.size < 100) {
    const answer = await post(service.address, toolCall("list_entities"), { token: tenant.token });
    assert.equal(answer.status, 200);
  }
  attack.send("over");
  const [{ connections, statuses, offeredBytes }] = await result;
  t.diagnostic(
    `${connections} connections offered ${(offeredBytes / 1e6).toFixed(0)} MB: ${JSON.stringify(statuses)}`,
  );
  assert.ok((statuses["401"] ?? 0) > 0 && (statuses["413"] ?? 0) > 0, "both forms were refused");
  assert.ok(mostRead() <= MOST_READ_BYTES, `${mostRead()} bytes were read`);
});

import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { openRaw } from "../../tests/support/raw-http.ts";
import { createBoundedServer } from "./bounded-server.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";

/** A server that counts the requests it handles, and answers them when `answers`. */
async function start(
  context: TestContext,
  answers: boolean,
  answer: (request: IncomingMessage) => string = () => "answered",
): Promise<{ address: string; handled: () => number }> {
  let handled = 0;
  const server = createBoundedServer((request, response) => {
    handled += 1;
    if (answers) response.end(answer(request));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, handled: () => handled };
}

test(
  "a connection that sends thousands of requests in one piece is ended at the seventeenth",
  { timeout: 30_000 },
  async (context) => {
    for (const answers of [true, false]) {
      const { address, handled } = await start(context, answers);
      const connections = await Promise.all(Array.from({ length: 20 }, () => openRaw(address)));
      for (const { send } of connections) send(REQUEST.repeat(3000));
      await Promise.all(
        connections.map(({ socket }) => new Promise((done) => void socket.once("close", done))),
      );
      assert.equal(handled(), 20 * 16);
    }
  },
);

test("requests that come one by one, or sixteen at a time, are all answered", async (context) => {
  const { address, handled } = await start(context, true);
  const { send, answer, close } = await openRaw(address);
  for (const count of [1, 16, 1, 16, 16, 1]) {
    send(REQUEST.repeat(count));
    for (let index = 0; index < count; index += 1) assert.equal((await answer()).body, "answered");
  }
  assert.equal(handled(), 51);
  close();
});

test("a request that names a whole address is one for its path, whatever stands for the host", async (context) => {
  const { address } = await start(context, true, ({ url = "" }) => url);
  const { send, answer, close } = await openRaw(address);
  for (const [target, path] of [
    ["http://localhost:8080/w/shop.example?q=a", "/w/shop.example?q=a"],
    ["HTTPS://[/confirm?next=http://x/", "/confirm?next=http://x/"],
    ["http://user@host", "/"],
    ["http://host?q=/a", "/?q=/a"],
    ["//host/a", "//host/a"],
    ["*", "*"],
  ] as const) {
    send(`${target === "*" ? "OPTIONS" : "GET"} ${target} HTTP/1.1\r\nHost: test\r\n\r\n`);
    assert.equal((await answer()).body, path, target);
  }
  close();
});

test("a head that does not arrive ends its connection after ten seconds, not after forty", async (context) => {
  const { address } = await start(context, true);
  const { send, socket } = await openRaw(address);
  send("GET / HTTP/1.1\r\nHost: ");
  const begunMs = performance.now();
  await once(socket, "close");
  assert.ok(performance.now() - begunMs < 20_000);
});

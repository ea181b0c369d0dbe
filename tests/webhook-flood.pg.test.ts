import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import type { TestContext } from "node:test";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { startServerProcess } from "./support/server-process.ts";
import type { ServerProcess } from "./support/server-process.ts";
import { APP_OPTIONS } from "./support/webhooks.ts";

const MEGABYTE = 1_048_576;
const CONNECTIONS = 40;
const LARGEST_GROWTH_MEGABYTES = 60;

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

type Upload = {
  socket: Socket;
  /** The status of the answer; 0 when the server ended the connection without one. */
  status: Promise<number>;
};

/** Opens a connection and sends the head of a delivery. */
async function openUpload(server: ServerProcess, head: readonly string[]): Promise<Upload> {
  const { hostname, port } = new URL(server.address);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.on("error", () => {});
  const status = new Promise<number>((resolve) => {
    socket.on("data", (data: Buffer) => {
      const code = Number(data.toString("latin1").slice(9, 12));
      if (code !== 100) resolve(code);
    });
    socket.once("close", () => resolve(0));
  });
  const lines = ["POST /webhooks/shopify HTTP/1.1", "host: test", "content-type: application/json"];
  socket.write(`${[...lines, "x-shopify-topic: orders/updated", ...head].join("\r\n")}\r\n\r\n`);
  return { socket, status };
}

/** A signature of the right form that nobody made. */
const forgedSignature = (): string => `x-shopify-hmac-sha256: ${randomBytes(32).toString("base64")}`;

/** Resolves when the kernel has taken the bytes or the server has ended the connection. */
async function send({ socket }: Upload, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
    socket.write(Buffer.alloc(bytes, 0x20), () => resolve());
  });
}

const residentMegabytes = ({ pid }: ServerProcess): number =>
  Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024;

/** A server that has answered a few hundred deliveries, so that its first growth is over. */
async function startWarmServer(context: TestContext): Promise<ServerProcess> {
  const server = await startServerProcess(context, database.url, APP_OPTIONS);
  for (let batch = 0; batch < 10; batch += 1) {
    const uploads = await Promise.all(
      Array.from({ length: 20 }, () => openUpload(server, [forgedSignature(), "content-length: 1024"])),
    );
    await Promise.all(uploads.map((upload) => send(upload, 1024)));
    for (const { socket, status } of uploads) {
      assert.equal(await status, 401);
      socket.destroy();
    }
  }
  return server;
}

/** Holds uploads open until the server has refused what it refuses, and returns how much memory it took meanwhile. */
async function growthUnder(
  context: TestContext,
  flood: { head: () => string[]; bytes: number; connections: number; refused: number },
): Promise<number[]> {
  const server = await startWarmServer(context);
  const beforeMegabytes = residentMegabytes(server);
  const uploads = await Promise.all(
    Array.from({ length: flood.connections }, () => openUpload(server, flood.head())),
  );
  const statuses: number[] = [];
  for (const { status } of uploads) void status.then((code) => statuses.push(code));
  const sending = uploads.map((upload) => send(upload, flood.bytes));
  let peakMegabytes = 0;
  while (statuses.length < flood.refused) {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(server));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await Promise.all(sending);
  peakMegabytes = Math.max(peakMegabytes, residentMegabytes(server));
  const growth = peakMegabytes - beforeMegabytes;
  context.diagnostic(
    `${flood.connections} connections: ${beforeMegabytes.toFixed(0)} MB before, ${peakMegabytes.toFixed(0)} MB at most`,
  );
  assert.ok(growth < LARGEST_GROWTH_MEGABYTES, `memory grew by ${growth.toFixed(0)} MB`);
  const answered = [...statuses];
  for (const { socket } of uploads) socket.destroy();
  assert.equal((await fetch(`${server.address}/healthz`)).status, 200);
  return answered;
}

test("uploads without a signature are refused before they are read", async (context) => {
  const statuses = await growthUnder(context, {
    head: () => [`content-length: ${8 * MEGABYTE}`],
    bytes: 8 * MEGABYTE - 1,
    connections: CONNECTIONS,
    refused: CONNECTIONS,
  });
  assert.deepEqual(new Set(statuses), new Set([401]));
});

test("uploads of more than a megabyte are refused before they are read", async (context) => {
  const statuses = await growthUnder(context, {
    head: () => [forgedSignature(), `content-length: ${8 * MEGABYTE}`],
    bytes: 8 * MEGABYTE - 1,
    connections: CONNECTIONS,
    refused: CONNECTIONS,
  });
  assert.deepEqual(new Set(statuses), new Set([413]));
});

test("of uploads that are held open the first few are read, and the others are asked to come again", async (context) => {
  const statuses = await growthUnder(context, {
    head: () => [forgedSignature(), `content-length: ${MEGABYTE}`],
    bytes: MEGABYTE / 8,
    connections: 200,
    refused: 192,
  });
  assert.deepEqual(new Set(statuses), new Set([429]));
});

test("eight uploads of a megabyte are held, and no more", async (context) => {
  const statuses = await growthUnder(context, {
    head: () => [forgedSignature(), `content-length: ${MEGABYTE}`],
    bytes: MEGABYTE - 1,
    connections: CONNECTIONS,
    refused: CONNECTIONS - 8,
  });
  assert.deepEqual(new Set(statuses), new Set([429]));
});

test("a body of unknown length counts as the largest", async (context) => {
  const statuses = await growthUnder(context, {
    head: () => [forgedSignature(), "transfer-encoding: chunked"],
    bytes: 0,
    connections: CONNECTIONS,
    refused: CONNECTIONS - 8,
  });
  assert.deepEqual(new Set(statuses), new Set([429]));
});

test("small deliveries have a place each, and a place is free again after its answer", async (context) => {
  const server = await startWarmServer(context);
  const head = () => [forgedSignature(), "content-length: 2", "expect: 100-continue"];
  const held = await Promise.all(Array.from({ length: 64 }, () => openUpload(server, head())));
  await Promise.all(held.map(({ socket }) => once(socket, "data")));
  const late = await fetch(`${server.address}/webhooks/shopify`, {
    method: "POST",
    headers: { "x-shopify-hmac-sha256": randomBytes(32).toString("base64") },
    body: "{}",
  });
  assert.deepEqual([late.status, late.headers.get("Retry-After")], [429, "10"]);
  assert.match(await late.text(), /Too many deliveries at once: send this one again later\./u);
  await Promise.all(held.map((upload) => send(upload, 2)));
  for (const { socket, status } of held) {
    assert.equal(await status, 401);
    socket.destroy();
  }
  const next = await openUpload(server, [forgedSignature(), "content-length: 2"]);
  await send(next, 2);
  assert.equal(await next.status, 401);
  next.socket.destroy();
});

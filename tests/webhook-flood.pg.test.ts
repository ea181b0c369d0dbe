import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, test, type TestContext } from "node:test";
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { startServerProcess, type ServerProcess } from "./support/server-process.ts";
import { APP, APP_OPTIONS } from "./support/webhooks.ts";
import { eventually } from "./support/worker.ts";

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

/** A well-formed but forged signature. */
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

/** A server that has answered a few hundred deliveries, after which its memory no longer grows. */
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

/** Holds uploads open until the server has refused some, and checks its memory; returns the statuses. */
async function statusesUnder(
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
  const statuses = await statusesUnder(context, {
    head: () => [`content-length: ${8 * MEGABYTE}`],
    bytes: 8 * MEGABYTE - 1,
    connections: CONNECTIONS,
    refused: CONNECTIONS,
  });
  assert.deepEqual(new Set(statuses), new Set([401]));
});

test("uploads of more than a megabyte are refused before they are read", async (context) => {
  const statuses = await statusesUnder(context, {
    head: () => [forgedSignature(), `content-length: ${8 * MEGABYTE}`],
    bytes: 8 * MEGABYTE - 1,
    connections: CONNECTIONS,
    refused: CONNECTIONS,
  });
  assert.deepEqual(new Set(statuses), new Set([413]));
});

test("the slowest of stalled uploads are ended, so that at most eight megabytes are held", async (context) => {
  const statuses = await statusesUnder(context, {
    head: () => [forgedSignature(), `content-length: ${MEGABYTE}`],
    bytes: MEGABYTE / 8,
    connections: 200,
    refused: 136,
  });
  assert.deepEqual(new Set(statuses), new Set([0]));
});

test("eight uploads of a megabyte are held, and no more", async (context) => {
  const statuses = await statusesUnder(context, {
    head: () => [forgedSignature(), `content-length: ${MEGABYTE}`],
    bytes: MEGABYTE - 1,
    connections: CONNECTIONS,
    refused: CONNECTIONS - 8,
  });
  assert.deepEqual(new Set(statuses), new Set([0]));
});

/** Sends a delivery that the app has signed, half of its body after a pause if there is one. Its shop is connected nowhere: 404. */
async function deliver(server: ServerProcess, bytes: number, pauseMs: number): Promise<number> {
  const body = JSON.stringify({
    id: 1,
    admin_graphql_api_id: "gid://shopify/Order/1",
    text: "a".repeat(bytes),
  });
  const signature = createHmac("sha256", APP.clientSecret).update(body).digest("base64");
  const head = [`x-shopify-hmac-sha256: ${signature}`, "x-shopify-shop-domain: a.myshopify.com"];
  const { socket, status } = await openUpload(server, [...head, `content-length: ${body.length}`]);
  const first = pauseMs === 0 ? body.length : bytes / 2;
  socket.write(body.slice(0, first));
  if (pauseMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    socket.write(body.slice(first));
  }
  const code = await status;
  socket.destroy();
  return code;
}

/** Deliveries that strangers may hold open, and how many bytes each sends every 50 ms. */
const HELD: readonly (readonly [title: string, head: string, firstBytes: number, laterBytes: number])[] = [
  ["of which nothing arrives", `content-length: ${MEGABYTE}`, 0, 0],
  ["of unknown length", "transfer-encoding: chunked", 0, 0],
  ["that arrive byte by byte", `content-length: ${MEGABYTE}`, 0, 1],
  ["that stop before their end", `content-length: ${MEGABYTE}`, MEGABYTE - 1, 0],
];

for (const [title, length, firstBytes, laterBytes] of HELD) {
  test(`strangers' deliveries ${title} do not block one that arrives`, async (context) => {
    const server = await startWarmServer(context);
    const open = () => openUpload(server, [forgedSignature(), length]);
    const held = await Promise.all(Array.from({ length: 100 }, open));
    await Promise.all(held.map((upload) => send(upload, firstBytes)));
    const sending = setInterval(() => {
      for (const { socket } of held) if (laterBytes > 0) socket.write(Buffer.alloc(laterBytes, 0x20));
    }, 50);
    const statuses = await Promise.all(Array.from({ length: 5 }, () => deliver(server, 100_000, 100)));
    clearInterval(sending);
    for (const { socket } of held) socket.destroy();
    assert.deepEqual(statuses, Array<number>(5).fill(404));
  });
}

test("a delivery whose body pauses is ended, long before the limit of the longest one", async (context) => {
  const server = await startWarmServer(context);
  const begun = performance.now();
  const { status } = await openUpload(server, [forgedSignature(), "content-length: 2"]);
  assert.equal(await status, 0);
  assert.ok(performance.now() - begun < 8000);
});

test("if all accepted deliveries wait for the database, one more is refused for now", async (context) => {
  const server = await startWarmServer(context);
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  try {
    await holder.query("begin");
    await holder.query("lock table shop_account in access exclusive mode");
    const waiting = Array.from({ length: 64 }, () => deliver(server, 2, 0));
    const late = await eventually(async () => {
      const asked = await fetch(`${server.address}/webhooks/shopify`, {
        method: "POST",
        headers: { "x-shopify-hmac-sha256": randomBytes(32).toString("base64") },
        body: "{}",
      });
      return asked.status === 401 ? null : asked;
    }, "a refusal for want of a place");
    assert.deepEqual([late.status, late.headers.get("Retry-After")], [429, "10"]);
    assert.match(await late.text(), /Too many deliveries at once: send this one again later\./u);
    await holder.query("rollback");
    assert.deepEqual(await Promise.all(waiting), Array<number>(64).fill(404));
  } finally {
    await holder.end();
  }
  assert.equal(await deliver(server, 2, 0), 404);
});

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import test from "node:test";
import { gunzipSync } from "node:zlib";
import Fastify from "fastify";
import { compressAnswers } from "./compress.ts";

const LONG = JSON.stringify({ rows: Array.from({ length: 1000 }, (_, row) => `row ${row}`) });

async function serve() {
  const server = Fastify();
  compressAnswers(server);
  server.get("/long", (_request, reply) => reply.type("application/json; charset=utf-8").send(LONG));
  server.get("/short", (_request, reply) => reply.type("application/json").send("{}"));
  server.route({
    method: ["GET", "POST"],
    url: "/page",
    handler: (_request, reply) => reply.type("text/html; charset=utf-8").send(LONG),
  });
  server.post("/answer", (_request, reply) => reply.type("application/json").send(LONG));
  server.get("/image", (_request, reply) => reply.type("image/webp").send(Buffer.alloc(4000)));
  server.get("/encoded", (_request, reply) =>
    reply.type("text/css").header("Content-Encoding", "br").send(Buffer.alloc(4000)),
  );
  server.get("/file", (_request, reply) => reply.type("text/csv").send(Readable.from([LONG, LONG])));
  server.get("/torn", (_request, reply) => reply.type("text/csv").send(Readable.from(torn())));
  await server.listen({ host: "127.0.0.1", port: 0 });
  return server;
}

async function* torn(): AsyncGenerator<string> {
  yield LONG;
  await new Promise((resolve) => setTimeout(resolve, 20));
  throw new Error("the database is gone");
}

const server = await serve();
test.after(() => server.close());
const get = (url: string, accepted?: string) =>
  server.inject({ url, headers: accepted === undefined ? {} : { "accept-encoding": accepted } });

test("a long text is compressed for those who accept gzip, a stream too, and is the same text", async () => {
  for (const accepted of ["gzip", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8"]) {
    for (const [path, text] of [
      ["/long", LONG],
      ["/file", LONG + LONG],
    ] as const) {
      const { headers, rawPayload } = await get(path, accepted);
      assert.equal(headers["content-encoding"], "gzip", path);
      assert.equal(headers.vary, "Accept-Encoding");
      assert.equal(gunzipSync(rawPayload).toString(), text);
      assert.ok(rawPayload.length < text.length / 2);
    }
  }
});

test("other clients get it uncompressed, with a Vary header for caches", async () => {
  for (const accepted of [undefined, "identity", "br", "gzip;q=0", "gzip; q=0.0, br", "xgzip"]) {
    const { headers, body } = await get("/long", accepted);
    assert.equal(headers["content-encoding"], undefined, accepted ?? "none");
    assert.equal(headers.vary, "Accept-Encoding");
    assert.equal(body, LONG);
  }
});

test("the page that answers a form is not compressed, as it may show a secret; other answers to a POST are", async () => {
  const headers = { "accept-encoding": "gzip" };
  const page = await server.inject({ method: "POST", url: "/page", headers });
  assert.deepEqual([page.headers["content-encoding"], page.headers.vary], [undefined, undefined]);
  assert.equal(page.body, LONG);
  const answer = await server.inject({ method: "POST", url: "/answer", headers });
  assert.equal(answer.headers["content-encoding"], "gzip");
  assert.equal((await get("/page", "gzip")).headers["content-encoding"], "gzip");
});

test("short, encoded or binary bodies are not compressed", async () => {
  for (const path of ["/short", "/image"]) {
    const { headers } = await get(path, "gzip");
    assert.equal(headers["content-encoding"], undefined, path);
    assert.equal(headers.vary, undefined);
  }
  assert.equal((await get("/encoded", "gzip")).headers["content-encoding"], "br");
});

test("HEAD has the headers of GET and no body", async () => {
  const [head, whole] = await Promise.all([
    server.inject({ method: "HEAD", url: "/long", headers: { "accept-encoding": "gzip" } }),
    get("/long", "gzip"),
  ]);
  assert.equal(head.body, "");
  assert.equal(head.headers["content-encoding"], "gzip");
  assert.equal(head.headers["content-length"], whole.headers["content-length"]);
});

test("a file that fails half way ends the connection: a part never looks whole", async () => {
  const { port } = server.server.address() as { port: number };
  await assert.rejects(async () => (await fetch(`http://127.0.0.1:${port}/torn`)).text());
});

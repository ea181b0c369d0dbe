import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { readAtMost } from "../../src/lib/read-at-most.ts";
import { VERSION } from "../../src/lib/version.ts";
import { SourceFailed, SourceRefused } from "../../src/sync/connector.ts";
import {
  bodyOf,
  getJson,
  readApiKey,
  readBaseUrl,
  readJson,
  RETRY_POLICY,
} from "../../src/sync/connectors/shared/http.ts";
import type { JsonSource, RetryPolicy } from "../../src/sync/connectors/shared/http.ts";
import { startLabelServer } from "../../tools/simulators/label-source/server.ts";
import type { FaultKind, LabelServer } from "../../tools/simulators/label-source/server.ts";
import { before, use } from "../support/use.ts";

const KEY = "a-key";
const PAGE = { page: "x".repeat(5000) };
const QUICK: RetryPolicy = { ...RETRY_POLICY, firstDelayMs: 1, tries: 3 };

const server = use(() => startServer(1000));

before(async () => {
  // The process's first request is slow, and must not run into the short time limit of these tests.
  await ask();
});

beforeEach(() => server.control.setApiKey(KEY));

for (const kind of [
  "status_500",
  "status_503",
  "cut",
  "cut_midway",
  "truncated_json",
  "not_json",
  "slow",
] satisfies FaultKind[]) {
  const change = kind === "slow" ? { timeoutMs: 500 } : {};

  test(`after ${kind} twice a third request is sent`, async () => {
    server.control.fail({ kind, times: 2, millis: 2000 });
    assert.deepEqual(await ask(change), PAGE);
  });

  test(`${kind} at every try is a failure, in one sentence`, async () => {
    server.control.fail({ kind, times: 3, millis: 2000 });
    await assert.rejects(ask(change), (error) => {
      assert.ok(error instanceof SourceFailed);
      assert.match(error.message, /^Source did not answer in 3 tries, the last one: [^.]+\.$/u);
      return true;
    });
    assert.deepEqual(await ask(), PAGE);
  });
}

test("429 is retried after the time in Retry-After, and does not count as a try", async () => {
  server.control.fail({ kind: "status_429", times: 1 });
  const begin = performance.now();
  assert.deepEqual(await ask({ tries: 1 }), PAGE);
  assert.ok(performance.now() - begin >= 1000);
});

test("a real rate limit is respected: every request is answered in the end", async (context) => {
  const limited = await startServer(3);
  context.after(() => limited.stop());
  for (let request = 0; request < 5; request += 1) {
    assert.deepEqual(await ask({ tries: 1 }, limited.url), PAGE);
  }
  assert.ok(limited.control.requests.length > 5);
});

test("a source that always answers 429 fails in the end", async () => {
  server.control.fail({ kind: "status_429", times: 4 });
  await assert.rejects(ask({ slowdowns: 2, maxSlowdownMs: 1, tries: 2 }), SourceFailed);
});

test("a revoked key is refused at once", async () => {
  server.control.setApiKey(null);
  const asked = server.control.requests.length;
  await assert.rejects(
    ask(),
    new SourceRefused(
      "Source does not accept this API key (status 401): check it under Settings, and connect it again.",
    ),
  );
  assert.equal(server.control.requests.length - asked, 1);
});

test("the key is not sent to a redirect's target, and a missing page is not retried", async () => {
  server.control.fail({ kind: "redirect" });
  await assert.rejects(ask(), /status 302/u);
  const asked = server.control.requests.length;
  await assert.rejects(ask({}, `${server.url}/elsewhere`), /status 404: check its address\.$/u);
  assert.equal(server.control.requests.length - asked, 1);
});

test("an aborted run stops at once, while asking and while waiting, with the reason it was given", async () => {
  server.control.fail({ kind: "slow", millis: 5000 });
  server.control.fail({ kind: "status_503", times: 1 });
  for (const change of [{ timeoutMs: 10_000 }, { firstDelayMs: 10_000 }]) {
    const worker = new AbortController();
    setTimeout(() => worker.abort(new Error("the worker stops")), 50);
    const begin = performance.now();
    await assert.rejects(ask(change, server.url, worker.signal), /the worker stops/u);
    assert.ok(performance.now() - begin < 1000);
  }
});

test("requests name the service; a firewall's page is no refusal of the key; packed answers are unpacked, if they are whole", async (context) => {
  const text = JSON.stringify(PAGE);
  const packed: Record<string, Buffer> = {
    gzip: gzipSync(text),
    GZIP: gzipSync(text),
    deflate: deflateSync(text),
    br: brotliCompressSync(text),
    identity: Buffer.from(text),
  };
  const names: (string | undefined)[] = [];
  const packing = createServer(({ url = "", headers }, response) => {
    if (url === "/firewall") return void response.writeHead(403).end(" <html>");
    names.push(headers["user-agent"]);
    const [, encoding = "", part = ""] = url.split("/");
    const body = packed[encoding] ?? Buffer.from(text);
    response.writeHead(200, { "content-encoding": encoding || "identity" });
    response.end(part === "" ? body : body.subarray(0, body.length / 2));
  }).listen(0, "127.0.0.1");
  await once(packing, "listening");
  context.after(() => packing.close());
  const url = `http://127.0.0.1:${(packing.address() as AddressInfo).port}/`;
  assert.deepEqual(await ask({}, url), PAGE);
  assert.deepEqual(names, [`returns-analytics/${VERSION}`]);
  const blocked = /^SourceFailed: Source did not answer in 3 tries, .* a web page refused the request/u;
  await assert.rejects(ask({}, `${url}firewall`), blocked);
  const read = async (path: string) => {
    const [answer] = (await once(get(`${url}${path}`), "response")) as [IncomingMessage];
    return (await readAtMost(bodyOf(answer), 1_000_000))?.toString();
  };
  for (const encoding of Object.keys(packed)) assert.equal(await read(encoding), text, encoding);
  await assert.rejects(read("gzip/half"), TypeError);
});

test("byte order marks before JSON do not count", () => {
  assert.deepEqual(readJson('\uFEFF\uFEFF{"id":1}'), { value: { id: 1 } });
});

test("keys are only sent encrypted, except to this machine", () => {
  const url = (setting: unknown) => readBaseUrl(setting, "https://api.example", "Source").href;
  assert.equal(url(undefined), "https://api.example/");
  assert.equal(url("https://api.example/v9"), "https://api.example/v9/");
  assert.equal(url("http://127.0.0.1:8080"), "http://127.0.0.1:8080/");
  assert.equal(url("http://localhost:8080"), "http://localhost:8080/");
  for (const setting of ["https://elsewhere.example", "https://api.example:8443", "https://k@api.example"]) {
    assert.throws(() => url(setting), /has to be https:\/\/api\.example \(another only on this machine/u);
  }
  for (const setting of ["http://api.example", "ftp://api.example", "api.example", "", 3]) {
    assert.throws(() => url(setting), SourceFailed);
  }
});

test("a missing key or one that cannot be sent is refused before any request", () => {
  assert.equal(readApiKey(" k1 ", "Source"), "k1");
  for (const key of [undefined, "", "  ", "two words", "line\nbreak", "schlüssel"]) {
    assert.throws(() => readApiKey(key, "Source"), SourceRefused);
  }
});

function ask(
  changes: Partial<RetryPolicy> = {},
  url = server.url,
  signal = new AbortController().signal,
): Promise<unknown> {
  const source: JsonSource = {
    title: "Source",
    keyPlace: "Settings",
    baseUrl: new URL(url),
    headers: { "x-key": KEY },
    signal,
    retryPolicy: { ...QUICK, ...changes },
  };
  return getJson(source, source.baseUrl);
}

function startServer(requests: number): Promise<LabelServer> {
  return startLabelServer(
    {
      header: "x-key",
      refusal: {},
      tooMany: {},
      notFound: {},
      serverError: {},
      answer: (url) => (url.pathname === "/" ? PAGE : null),
      changeTypes: (page) => page,
    },
    { port: 0, apiKey: KEY, requests, windowSeconds: 1 },
  );
}

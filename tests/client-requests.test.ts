import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, type ReturnsClient } from "../src/client/client.ts";
import type { ClientOptions } from "../src/client/result.ts";
import { ReturnsApiError, ReturnsNetworkError } from "../src/client/errors.ts";

type Step = (response: ServerResponse, request: IncomingMessage) => void;

type FailingServer = {
  address: string;
  /** Every request received, with its time. */
  requests: { url: string; atMs: number; headers: IncomingMessage["headers"] }[];
  /** How the next requests are answered; the last step also answers all further ones. */
  answerWith(...steps: Step[]): void;
  stop(): Promise<void>;
};

/** A server with real sockets that treats each request as the test specifies. */
async function startFailingServer(): Promise<FailingServer> {
  let steps: Step[] = [];
  const requests: FailingServer["requests"] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? "", atMs: Date.now(), headers: request.headers });
    const step = steps.length > 1 ? steps.shift() : steps[0];
    step?.(response, request);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answerWith: (...next) => {
      steps = next;
      requests.length = 0;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const JSON_HEADERS = { "Content-Type": "application/json; charset=utf-8" };

/** A valid answer of any endpoint without pages. */
const succeed: Step = (response) => {
  response.writeHead(200, { ...JSON_HEADERS, "X-Request-ID": "good" });
  response.end(JSON.stringify({ data: { sold_units: 1 }, meta: { api_version: "2026-07-05" } }));
};

/** An error in the API's form. */
function refuse(status: number, code: string, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, { ...JSON_HEADERS, "X-Request-ID": `id-${status}`, ...headers });
    response.end(JSON.stringify({ error: { code, message: `Refused with ${status}.` } }));
  };
}

/** The answer of another program, such as a proxy. */
function page(status: number, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, { "Content-Type": "text/html", ...headers });
    response.end("<h1>Here is something else</h1>");
  };
}

/** The connection ends before an answer. */
const cutOff: Step = (response) => void response.socket?.destroy();

/** The connection ends in the middle of an answer. */
const breakOff: Step = (response) => {
  response.writeHead(200, { ...JSON_HEADERS, "Content-Length": "1000" });
  response.write('{"data":');
  setTimeout(() => response.socket?.destroy(), 20);
};

/** There is no answer. */
const hang: Step = () => {};

/** The error of a call that must fail. */
async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
  assert.fail("It succeeded.");
}

const TOKEN = "rta_live_a_token_that_must_not_be_shown";
const MONTHS = { start_month: "2026-01", end_month: "2026-03" };
let server: FailingServer;

before(async () => {
  server = await startFailingServer();
});

after(async () => server.stop());

function clientWith(options: Partial<ClientOptions> = {}): ReturnsClient {
  return createClient({ baseUrl: server.address, token: TOKEN, retryBaseMs: 5, ...options });
}

test("The token goes into the Authorization header and nowhere else", async () => {
  server.answerWith(succeed);
  await clientWith().summary(MONTHS, { requestId: "mine" });
  const [request] = server.requests;
  assert.equal(request?.headers.authorization, `Bearer ${TOKEN}`);
  assert.equal(request.headers["x-request-id"], "mine");
  assert.doesNotMatch(request.url, /rta_/u);
  assert.doesNotMatch(inspect(clientWith(), { depth: 9, showHidden: true }), /rta_live/u);
});

test("The token is in no error, whatever went wrong", async () => {
  const errors = [];
  for (const step of [
    cutOff,
    page(500),
    refuse(401, "unauthorized"),
    page(302, { Location: "/elsewhere" }),
  ]) {
    server.answerWith(step);
    errors.push(await failureOf(clientWith({ maxRetries: 0 }).summary(MONTHS)));
  }
  errors.push(await failureOf(clientWith({ baseUrl: "http://127.0.0.1:1", maxRetries: 0 }).summary(MONTHS)));
  const talkative = async (_url: string, { headers }: RequestInit): Promise<Response> => {
    throw new Error(`failed with ${JSON.stringify(headers)}`);
  };
  const told = await failureOf(clientWith({ fetch: talkative, maxRetries: 0 }).summary(MONTHS));
  assert.doesNotMatch(told.message, /rta_live/u);
  for (const error of errors)
    assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /rta_live/u);
  assert.throws(
    () => clientWith({ token: `${TOKEN}\n` }),
    (error: Error) => error instanceof TypeError && !error.message.includes("rta_"),
  );
});

test("The token is sent unencrypted only to this machine, unless that is allowed", async () => {
  const asked: string[] = [];
  const fetch = async (url: string): Promise<Response> => {
    asked.push(url);
    throw new Error("no network");
  };
  for (const host of ["returns.example", "10.0.0.1", "localhost.example", "127.0.0.1.example"]) {
    assert.throws(
      () => clientWith({ baseUrl: `http://${host}` }),
      /^TypeError: baseUrl must begin with https:/u,
    );
  }
  const options = { fetch, maxRetries: 0 };
  const addresses = ["https://returns.example", "http://localhost:8080", "http://[::1]:8080"];
  for (const baseUrl of addresses) await failureOf(clientWith({ ...options, baseUrl }).summary(MONTHS));
  const allowed = clientWith({ ...options, baseUrl: "http://returns.example", allowPlainHttp: true });
  await failureOf(allowed.summary(MONTHS));
  assert.equal(asked.length, addresses.length + 1);
});

test("A redirect is not followed", async () => {
  server.answerWith(page(302, { Location: `${server.address}/elsewhere` }), succeed);
  const error = await failureOf(clientWith({ maxRetries: 0 }).summary(MONTHS));
  assert.ok(error instanceof ReturnsNetworkError);
  assert.equal(server.requests.length, 1);
});

test("A token function is called again for each try", async () => {
  let asked = 0;
  server.answerWith(refuse(500, "internal_error"), succeed);
  await clientWith({ token: async () => `token-${++asked}` }).summary(MONTHS);
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    ["Bearer token-1", "Bearer token-2"],
  );
});

test("Values are sent as the API reads them, and absent ones are not", async () => {
  server.answerWith(succeed);
  await clientWith().returnRateLeaderboard({ min_return_rate: 1e-7, vendor: "A & B+ü", limit: undefined });
  assert.equal(
    server.requests[0]?.url,
    "/api/v1/leaderboards/return-rate?min_return_rate=0.0000001&vendor=A%20%26%20B%2B%C3%BC",
  );
});

test("A parameter that the endpoint does not have is refused before anything is sent", async () => {
  server.answerWith(succeed);
  const misspelt = { ...MONTHS, windw: "90d" };
  const error = await failureOf(clientWith().summary(misspelt));
  assert.match(error.message, /windw/u);
  assert.ok(error instanceof TypeError);
  assert.equal(server.requests.length, 0);
});

test("A path in the base address is kept, and an invalid address is refused", async () => {
  server.answerWith(succeed);
  await clientWith({ baseUrl: `${server.address}/returns/` }).alerts();
  assert.equal(server.requests[0]?.url, "/returns/api/v1/alerts");
  for (const baseUrl of ["", "returns.example", "ftp://returns.example", "https://user:pw@returns.example"]) {
    assert.throws(() => clientWith({ baseUrl }), TypeError);
  }
});

const PASSING: [title: string, step: Step][] = [
  ["a 429 whose Retry-After is 0", refuse(429, "rate_limited", { "Retry-After": "0" })],
  ["a 429 without Retry-After", refuse(429, "rate_limited")],
  ["a 500", refuse(500, "internal_error")],
  ["a 502 of a proxy", page(502)],
  ["a 503 of a proxy", page(503, { "Retry-After": "0" })],
  ["a 504 of a proxy", page(504)],
  ["a connection that is cut before the answer", cutOff],
  ["a connection that breaks in the middle of the answer", breakOff],
];

for (const [title, step] of PASSING) {
  test(`After ${title} the same request is sent again and succeeds`, async () => {
    server.answerWith(step, step, succeed);
    const result = await clientWith().summary(MONTHS);
    assert.deepEqual(result.data, { sold_units: 1 });
    assert.equal(result.requestId, "good");
    assert.equal(result.quota, null);
    assert.equal(server.requests.length, 3);
    assert.equal(new Set(server.requests.map(({ url }) => url)).size, 1);
  });
}

const FINAL: [title: string, step: Step, code: string, status: number][] = [
  ["a 400", refuse(400, "invalid_request"), "invalid_request", 400],
  ["a 401", refuse(401, "unauthorized"), "unauthorized", 401],
  ["a 403", refuse(403, "forbidden"), "forbidden", 403],
  ["a 404 of a proxy", page(404), "not_found", 404],
  ["a 409", refuse(409, "not_ready"), "not_ready", 409],
  ["a 413 of a proxy", page(413), "invalid_request", 413],
  ["a code that is not of the closed list", refuse(403, "surprise"), "forbidden", 403],
];

for (const [title, step, code, status] of FINAL) {
  test(`For ${title} no second request is sent, and the error says ${code}`, async () => {
    server.answerWith(step, succeed);
    const error = await failureOf(clientWith().summary(MONTHS));
    assert.ok(error instanceof ReturnsApiError);
    assert.deepEqual([error.code, error.status], [code, status]);
    assert.equal(server.requests.length, 1);
  });
}

test("Retries end after maxRetries with the last error", async () => {
  server.answerWith(refuse(500, "internal_error"));
  const error = await failureOf(clientWith({ maxRetries: 3 }).summary(MONTHS));
  assert.ok(error instanceof ReturnsApiError);
  assert.deepEqual(
    [error.code, error.message, error.requestId],
    ["internal_error", "Refused with 500.", "id-500"],
  );
  assert.equal(server.requests.length, 4);
  server.answerWith(cutOff);
  const cut = await failureOf(clientWith({ maxRetries: 0 }).summary(MONTHS));
  assert.ok(cut instanceof ReturnsNetworkError);
  assert.equal(cut.reason, "connection");
  assert.equal(server.requests.length, 1);
});

test("A Retry-After of a second is waited for", async () => {
  server.answerWith(refuse(429, "rate_limited", { "Retry-After": "1" }), succeed);
  await clientWith().summary(MONTHS);
  const [first, second] = server.requests;
  assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 990);
});

test("A Retry-After until tomorrow is not waited for: the call fails at once with the time and the remaining quota", async () => {
  const resetsAt = "2026-07-02T00:00:00.000Z";
  server.answerWith(
    refuse(429, "rate_limited", {
      "Retry-After": "43200",
      "X-RateLimit-Limit": "1000",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": resetsAt,
    }),
  );
  const startedAtMs = Date.now();
  const error = await failureOf(clientWith().summary(MONTHS));
  assert.ok(error instanceof ReturnsApiError);
  assert.ok(Date.now() - startedAtMs < 2000);
  assert.equal(server.requests.length, 1);
  assert.equal(error.retryAfterSeconds, 43_200);
  assert.deepEqual(error.quota, { limit: 1000, remaining: 0, resetsAt: new Date(resetsAt) });
});

test("The caller sets the longest Retry-After to wait for, also when it is a date", async () => {
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  for (const [value, wantedSeconds] of [
    ["2", 2],
    [inAMinute, 60],
  ] as const) {
    server.answerWith(refuse(503, "internal_error", { "Retry-After": value }), succeed);
    const error = await failureOf(clientWith({ maxRetryWaitMs: 1999 }).summary(MONTHS));
    assert.ok(error instanceof ReturnsApiError);
    assert.ok(Math.abs((error.retryAfterSeconds ?? 0) - wantedSeconds) <= 1);
    assert.equal(server.requests.length, 1);
  }
});

test("A silent service times out after timeoutMs, for each attempt", async () => {
  server.answerWith(hang);
  const startedAtMs = Date.now();
  const error = await failureOf(clientWith({ timeoutMs: 100, maxRetries: 1 }).summary(MONTHS));
  assert.ok(error instanceof ReturnsNetworkError);
  assert.equal(error.reason, "timeout");
  assert.equal(server.requests.length, 2);
  assert.ok(Date.now() - startedAtMs >= 190);
  server.answerWith(hang, succeed);
  await clientWith().summary(MONTHS, { timeoutMs: 100 });
});

test("A body that stops in the middle runs into the same time limit", async () => {
  server.answerWith((response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.write('{"data":');
  });
  const error = await failureOf(clientWith({ timeoutMs: 100, maxRetries: 0 }).summary(MONTHS));
  assert.ok(error instanceof ReturnsNetworkError);
  assert.equal(error.reason, "timeout");
});

test("An aborted call rejects with the signal's reason: before, during a request, and while waiting", async () => {
  const reason = new Error("no longer needed");
  const early = failureOf(clientWith().summary(MONTHS, { signal: AbortSignal.abort(reason) }));
  assert.equal(await early, reason);
  for (const step of [hang, refuse(503, "internal_error", { "Retry-After": "10" })]) {
    server.answerWith(step);
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 150);
    const startedAtMs = Date.now();
    assert.equal(await failureOf(clientWith().summary(MONTHS, { signal: controller.signal })), reason);
    assert.ok(Date.now() - startedAtMs < 5000);
    assert.equal(server.requests.length, 1);
  }
});

test("An answer of another program is not used as data, and the request is not sent again", async () => {
  const json: Step = (response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end('{"ok":true}');
  };
  for (const step of [page(200), json]) {
    server.answerWith(step);
    const error = await failureOf(clientWith().summary(MONTHS));
    assert.ok(error instanceof ReturnsNetworkError);
    assert.equal(error.reason, "unreadable_answer");
    assert.equal(server.requests.length, 1);
  }
  server.answerWith(page(200));
  const error = await failureOf(clientWith().exportReport(MONTHS));
  assert.ok(error instanceof ReturnsNetworkError);
});

test("An export's chunks arrive while the service still writes, and a slow reader is not timed out", async () => {
  let write: ((text: string | null) => void) | undefined;
  server.answerWith((response) => {
    response.writeHead(200, { "Content-Type": "text/csv; charset=utf-8" });
    write = (text) => void (text === null ? response.end() : response.write(text));
    write("first\r\n");
  });
  const { stream } = await clientWith({ timeoutMs: 300 }).exportReport(MONTHS);
  const reader = stream.getReader();
  const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
  assert.equal(await read(), "first\r\n");
  await new Promise((done) => setTimeout(done, 500));
  write?.("second\r\n");
  assert.equal(await read(), "second\r\n");
  write?.(null);
  assert.equal((await reader.read()).done, true);
});

test("An export that breaks off or stalls fails while it is read, and is not requested again", async () => {
  const start: Step = (response) => {
    response.writeHead(200, { "Content-Type": "text/csv; charset=utf-8" });
    response.write("section,value\r\n");
  };
  for (const [reason, step, options] of [
    ["connection", (...given) => (start(...given), setTimeout(() => given[0].socket?.destroy(), 50)), {}],
    ["timeout", start, { timeoutMs: 500 }],
  ] as [string, Step, Partial<ClientOptions>][]) {
    server.answerWith(step);
    const file = await clientWith(options).exportReport(MONTHS);
    const error = await failureOf(file.text());
    assert.ok(error instanceof ReturnsNetworkError);
    assert.equal(error.reason, reason);
    assert.equal(server.requests.length, 1);
  }
});

test("An abort ends an export that is being read, and so does cancelling it", async () => {
  const closes: Promise<unknown>[] = [];
  const start: Step = (response) => {
    closes.push(once(response, "close", { signal: AbortSignal.timeout(30_000) }));
    response.writeHead(200, { "Content-Type": "text/csv; charset=utf-8" });
    response.write("section,value\r\n");
  };
  server.answerWith(start);
  const controller = new AbortController();
  const file = await clientWith().exportReport(MONTHS, { signal: controller.signal });
  const reason = new Error("enough");
  setTimeout(() => controller.abort(reason), 50);
  assert.equal(await failureOf(file.text()), reason);
  await (await clientWith().exportReport(MONTHS)).stream.cancel();
  assert.equal(closes.length, 2);
  await Promise.all(closes);
});

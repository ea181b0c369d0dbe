import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { createClient } from "../src/client/client.ts";
import type { ClientOptions, ReturnsClient } from "../src/client/client.ts";
import { ReturnsNetworkError } from "../src/client/errors.ts";
import { cutOff, failureOf, page, refuse, startFailingServer, succeed } from "./support/failing-server.ts";
import type { FailingServer } from "./support/failing-server.ts";

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

test("The token is sent unencrypted to this machine alone, unless that is asked for", async () => {
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

test("A token from a function is asked for again for each try", async () => {
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

test("A path in the base address is kept, and an address that cannot be right is refused", async () => {
  server.answerWith(succeed);
  await clientWith({ baseUrl: `${server.address}/returns/` }).alerts();
  assert.equal(server.requests[0]?.url, "/returns/api/v1/alerts");
  for (const baseUrl of ["", "returns.example", "ftp://returns.example", "https://user:pw@returns.example"]) {
    assert.throws(() => clientWith({ baseUrl }), TypeError);
  }
});

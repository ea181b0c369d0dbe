import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { INTERNAL_ERROR_MESSAGE } from "../src/contract/errors.ts";
import { isCitus, listServers } from "./support/citus.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { leastParameters } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { withoutTable } from "./support/table-away.ts";
import {
  changePlan,
  changeWorkspace,
  countedRequests,
  createTenant,
  createTokenOf,
} from "./support/tenants.ts";

const SUMMARY = "/api/v1/summary";
const MONTHS = { start_month: "2026-01", end_month: "2026-03" };

const tenant = await createSmallStore(service.database);

/** A token with a wrong last digit, which is part of the checksum. */
function withBrokenChecksum(token: string): string {
  return token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
}

describe("401", () => {
  const refused: [title: string, authorization: (token: string) => string | undefined][] = [
    ["no header", () => undefined],
    ["an empty header", () => ""],
    ["another scheme", (token) => `Basic ${token}`],
    ["a token without a scheme", (token) => token],
    ["a scheme without a token", () => "Bearer"],
    ["two tokens", (token) => `Bearer ${token} ${token}`],
    ["a word that is no token", () => "Bearer nonsense"],
    ["a token cut short", (token) => `Bearer ${token.slice(0, -1)}`],
    ["a token with a letter more", (token) => `Bearer ${token}0`],
    ["a token with a broken checksum", (token) => `Bearer ${withBrokenChecksum(token)}`],
    ["another prefix", (token) => `Bearer ${token.replace("rta_live_", "rta_test_")}`],
  ];
  for (const endpoint of ENDPOINTS) {
    test(`${endpoint.name}: every malformed authorization is refused, uncounted`, async () => {
      const countedBefore = await countedRequests(service.database, tenant);
      for (const [title, authorization] of refused) {
        const value = authorization(tenant.token);
        const answer = await service.call(endpoint.path, {
          params: leastParameters(endpoint),
          headers: value === undefined ? {} : { authorization: value },
        });
        assert.equal(answer.status, 401, title);
      }
      assert.equal(await countedRequests(service.database, tenant), countedBefore);
    });

    test(`${endpoint.name}: unknown, revoked and expired tokens are refused, each in its words`, async () => {
      const { database } = service;
      const past = new Date(Date.now() - 1000).toISOString();
      const future = new Date(Date.now() + 3_600_000).toISOString();
      const removed = await createTokenOf(database, tenant.shopKey);
      await database.query("delete from api_token where token_id = $1", [removed.tokenId]);
      const cases: [token: string, status: number, message: RegExp][] = [
        [removed.token, 401, /not known/u],
        [(await createTokenOf(database, tenant.shopKey, { revokedAt: past })).token, 401, /revoked/u],
        [(await createTokenOf(database, tenant.shopKey, { expiresAt: past })).token, 401, /expired/u],
        [(await createTokenOf(database, tenant.shopKey, { expiresAt: future })).token, 200, /./u],
      ];
      for (const [token, status, message] of cases) {
        const answer = await service.call(endpoint.path, { token, params: leastParameters(endpoint) });
        assert.equal(answer.status, status);
        assert.match(answer.text, message);
      }
    });
  }

  test("the scheme word counts in any case", async () => {
    for (const scheme of ["bearer", "BEARER", "bEaReR"]) {
      const headers = { authorization: `${scheme}  ${tenant.token}` };
      assert.equal((await service.call(SUMMARY, { params: MONTHS, headers })).status, 200);
    }
  });

  test("a token in the URL is no token", async () => {
    const params = { ...MONTHS, token: tenant.token, access_token: tenant.token };
    assert.equal((await service.call(SUMMARY, { params })).status, 401);
  });
});

test("the checks come in order: token, billing, entitlement, scope, readiness, quota, input", async () => {
  const { database } = service;
  const broken = await createTenant(database, { entitlements: [], dailyQuota: 0, readiness: "installing" });
  await changeWorkspace(database, broken, { billing_status: "inactive" });
  const { token } = await createTokenOf(database, broken.shopKey, { scopes: ["read:alerts"] });
  const ask = async (status: number, message: RegExp): Promise<void> => {
    const answer = await service.call(SUMMARY, { token, params: { start_month: "nonsense" } });
    assert.equal(answer.status, status);
    assert.match(answer.message(), message);
  };

  await database.query("update api_token set revoked_at = now() where shop_key = $1", [broken.shopKey]);
  await ask(401, /revoked/u);
  await database.query("update api_token set revoked_at = null where shop_key = $1", [broken.shopKey]);
  await ask(403, /Billing/u);
  await changeWorkspace(database, broken, { billing_status: "active" });
  await ask(403, /api_access/u);
  await changePlan(database, broken, { entitlements: ["api_access"] });
  await ask(403, /scope read:dashboard/u);
  await database.query("update api_token set scopes = '{read:dashboard}' where shop_key = $1", [
    broken.shopKey,
  ]);
  await ask(409, /installing/u);
  await changeWorkspace(database, broken, { readiness: "ready" });
  await ask(429, /quota of 0/u);
  assert.equal(await countedRequests(database, broken), 0);
  await changePlan(database, broken, { dailyQuota: 10 });
  await ask(400, /start_month/u);
  assert.equal(await countedRequests(database, broken), 1);
});

describe("404 and 405", () => {
  test("an unknown path is 404 for everybody, and uncounted", async () => {
    const countedBefore = await countedRequests(service.database, tenant);
    const paths = ["/api", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v2/summary", "/api/v1/summary/"];
    for (const path of [...paths, "/API/v1/summary", "/api/v1/summary/x", "/api/v1/export"]) {
      for (const method of ["GET", "POST", "HEAD"]) {
        assert.equal((await service.call(path, { method, token: tenant.token })).status, 404, path);
      }
      assert.equal((await service.call(path)).status, 404, path);
    }
    assert.equal(await countedRequests(service.database, tenant), countedBefore);
  });
});

describe("500", () => {
  test("a failure after admission is a plain 500, counted, and its cause is only in the log", async () => {
    const { database, logs } = service;
    const countedBefore = await countedRequests(database, tenant);
    const answer = await withoutTable(database, "cohort", () =>
      service.call(SUMMARY, {
        token: tenant.token,
        params: { ...MONTHS, window: "lifetime" },
        headers: { "x-request-id": "look-me-up" },
      }),
    );
    assert.equal(answer.status, 500);
    assert.equal(answer.message(), INTERNAL_ERROR_MESSAGE);
    assert.notEqual(answer.headers.get("x-ratelimit-limit"), null);
    assert.equal(await countedRequests(database, tenant), countedBefore + 1);
    const line = logs.find((entry) => entry.includes("look-me-up") && entry.includes("cohort"));
    assert.ok(line, "the cause is logged under the request id");
    assert.ok(line.includes(tenant.tokenId), "and under the token id");
    assert.ok(!logs.some((entry) => entry.includes(tenant.token)), "but no token is logged");
  });

  test("without the database: 500 for well-formed tokens, 401, 404 and 405 as before, then recovery", async () => {
    const { databaseUrl } = service;
    const name = new URL(databaseUrl).pathname.slice(1);
    const first = urlOfDatabase(databaseUrl, "postgres");
    // On Citus, servers query the nodes without the coordinator.
    const servers = isCitus() ? await listServers(first) : [first];
    for (const server of servers) {
      await execute(server, `alter database ${name} with allow_connections false`);
      await execute(
        server,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
      );
    }
    try {
      for (const endpoint of ENDPOINTS) {
        const { path } = endpoint;
        const answer = await service.call(path, { token: tenant.token, params: leastParameters(endpoint) });
        assert.equal(answer.status, 500);
        assert.equal(answer.message(), INTERNAL_ERROR_MESSAGE);
        assert.ok(!/postgres|database|connect/iu.test(answer.text));
        assert.equal((await service.call(path, { token: withBrokenChecksum(tenant.token) })).status, 401);
        assert.equal((await service.call(path, { method: "PUT" })).status, 405);
      }
      assert.equal((await service.call("/api/v1/nothing")).status, 404);
    } finally {
      for (const server of servers)
        await execute(server, `alter database ${name} with allow_connections true`);
    }
    assert.equal((await service.call(SUMMARY, { token: tenant.token, params: MONTHS })).status, 200);
  });
});

describe("X-Request-ID", () => {
  test("a valid one is echoed; without one, or with an invalid one, each answer gets its own", async () => {
    for (const given of ["a", "Z9._:-", "x".repeat(128)]) {
      await service.call(SUMMARY, { headers: { "x-request-id": given } });
    }
    const own = new Set<string | null>();
    for (const given of ["", "x".repeat(129), "two words", "ä", "a,b", "<script>"]) {
      const response = await fetch(service.address + SUMMARY, { headers: { "x-request-id": given } });
      own.add(response.headers.get("x-request-id"));
      assert.match(response.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/u);
    }
    assert.equal(own.size, 6);
  });
});

describe("malformed HTTP", () => {
  test("a path that is not percent-encoded UTF-8 is 400 with the common headers", async () => {
    assert.equal((await service.call("/api/v1/%zz")).status, 400);
    assert.equal((await service.call("/api/v1/%ED%A0%80")).status, 400);
  });

  test("an unparsable request gets a 400 in the contract's form", async () => {
    const url = new URL(service.address);
    const socket = createConnection({ host: url.hostname, port: Number(url.port) });
    socket.end("GET /api/v1/summary HTTP/1.1\r\nbroken header\r\n\r\n");
    const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 400 /u);
    assert.match(head, /^X-Returns-API-Version: 2026-07-05$/mu);
    assert.match(head, /^X-Request-ID: [0-9a-f-]{36}$/mu);
    assert.deepEqual(JSON.parse(body), {
      error: { code: "invalid_request", message: "The request is not well-formed HTTP." },
    });
  });
});

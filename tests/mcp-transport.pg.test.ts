import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pino from "pino";
import { createAdmit } from "../src/admission/admit.ts";
import { createHttpMetrics } from "../src/http/metrics.ts";
import { createServer } from "../src/http/server.ts";
import { createMcpSurface } from "../src/mcp/surface.ts";
import { MCP_PATH, expectError, post, rpc, toolCall } from "./support/mcp.ts";
import type { RpcAnswer } from "./support/mcp.ts";
import { service } from "./support/shared-service.ts";
import { changeWorkspace, countedRequests, createTenant, createTokenOf } from "./support/tenants.ts";

const tenant = await createTenant(service.database);

const ask = (body: unknown, headers: Record<string, string> = {}): Promise<RpcAnswer> =>
  post(service.address, body, { token: tenant.token, headers });

describe("HTTP", () => {
  test("any method but POST is 405 with Allow, before authentication and body", async () => {
    for (const method of ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"]) {
      for (const headers of [{}, { "content-type": "application/json" }, { accept: "text/event-stream" }]) {
        const answer = await service.call(MCP_PATH, { method, headers });
        assert.equal(answer.status, 405);
        assert.equal(answer.headers.get("allow"), "POST");
      }
    }
    const head = await fetch(`${service.address}${MCP_PATH}`, { method: "HEAD" });
    assert.equal(head.status, 405);
    const withBody = await fetch(`${service.address}${MCP_PATH}`, { method: "PUT", body: "x".repeat(2e6) });
    assert.equal(withBody.status, 405);
    await withBody.text();
  });

  test("paths that clients probe for OAuth are 404 with a JSON body", async () => {
    const probes = ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"].flatMap(
      (name) => [
        `/.well-known/${name}`,
        `/.well-known/${name}${MCP_PATH}`,
        `${MCP_PATH}/.well-known/${name}`,
      ],
    );
    for (const path of [...probes, "/register", "/authorize", "/token"]) {
      for (const method of ["GET", "POST"]) {
        const answer = await service.call(path, { method });
        assert.equal(answer.status, 404);
      }
    }
  });

  test("a content type other than application/json is 415, also without a body", async () => {
    for (const type of [
      "text/plain",
      "application/json-rpc",
      "application/x-www-form-urlencoded",
      "nonsense",
    ]) {
      expectError(await ask(rpc("ping"), { "content-type": type }), 415, -32600, null);
    }
    const none = await fetch(`${service.address}${MCP_PATH}`, { method: "POST" });
    assert.equal(none.status, 415);
    await none.text();
    const charset = await ask(rpc("ping"), { "content-type": "Application/JSON; charset=UTF-8" });
    assert.equal(charset.status, 200);
  });

  test("a body of the limit is read, one byte more is 413", async () => {
    const limit = 65_536;
    const padded = (bytes: number): string => {
      const text = JSON.stringify(rpc("ping"));
      return text + " ".repeat(bytes - text.length);
    };
    assert.equal((await ask(padded(limit))).status, 200);
    expectError(await ask(padded(limit + 1)), 413, -32600, null);
  });

  test("Accept is never looked at, no session is given or asked for", async () => {
    for (const accept of ["*/*", "application/json", "text/event-stream", "text/html", ""]) {
      const answer = await ask(rpc("ping"), { accept, "mcp-session-id": "made-up" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("mcp-session-id"), null);
    }
  });

  test("a request with an Origin is a browser's: 403 unless it is in the list", async () => {
    expectError(await ask(rpc("ping"), { origin: "https://app.example" }), 403, -32600, null);
    expectError(await post(service.address, "{", { headers: { origin: "null" } }), 403, -32600, null);
    const { keys } = service;
    const { database } = service.installation;
    const admit = createAdmit({ database, pepper: keys.tokenPepper });
    const server = createServer({
      operations: [],
      surfaces: [createMcpSurface({ operations: [], admit, allowedOrigins: ["https://app.example"] })],
      logger: pino({ level: "silent" }),
      metrics: createHttpMetrics(),
      notFoundPage: null,
      registerOperationsRoutes: null,
    });
    const address = await server.listen({ host: "127.0.0.1", port: 0 });
    try {
      const from = async (origin: string): Promise<number> =>
        (await post(address, rpc("ping"), { token: tenant.token, headers: { origin } })).status;
      assert.equal(await from("https://app.example"), 200);
      assert.equal(await from("https://app.example.evil.example"), 403);
      assert.equal(await from("http://app.example"), 403);
    } finally {
      await server.close();
    }
  });
});

describe("order of checks", () => {
  test("method, Origin, content type, size, token, JSON: the first that fails answers", async () => {
    const big = "x".repeat(65_537);
    const foreign = { origin: "https://evil.example", "content-type": "text/plain" };
    expectError(await post(service.address, big, { headers: foreign }), 403, -32600, null);
    expectError(
      await post(service.address, big, { headers: { "content-type": "text/plain" } }),
      415,
      -32600,
      null,
    );
    expectError(await post(service.address, big), 413, -32600, null);
    expectError(await post(service.address, "{"), 401, -32001, null);
    expectError(await post(service.address, []), 401, -32001, null);
    expectError(await post(service.address, rpc("unknown/method")), 401, -32001, 1);
    expectError(await post(service.address, toolCall("list_entities")), 401, -32001, 1);
    const inactive = await createTenant(service.database, { billingStatus: "inactive" });
    const entitled = { token: inactive.token };
    expectError(await post(service.address, "{", entitled), 403, -32001, null);
    expectError(await post(service.address, toolCall("unknown"), entitled), 403, -32001, 1);
  });

  test("no or bad token: 401 with WWW-Authenticate and what to do, whatever the method", async () => {
    const { token: expired } = await createTokenOf(service.database, tenant.shopKey, {
      expiresAt: "2026-01-01T00:00:00Z",
    });
    const { token: revoked } = await createTokenOf(service.database, tenant.shopKey, {
      revokedAt: "2026-01-01T00:00:00Z",
    });
    const flipped = `${tenant.token.slice(0, -1)}${tenant.token.endsWith("0") ? "1" : "0"}`;
    const headers = [
      {},
      { authorization: "Basic abc" },
      ...[expired, revoked, flipped, "nonsense"].map((token) => ({ authorization: `Bearer ${token}` })),
    ];
    for (const given of headers) {
      for (const body of [rpc("initialize"), rpc("ping"), rpc("tools/list"), toolCall("list_entities")]) {
        const answer = await post(service.address, body, { headers: given });
        expectError(answer, 401, -32001, 1);
        assert.equal(answer.headers.get("www-authenticate"), "Bearer");
        assert.match(answer.message.error?.message ?? "", /Authorization: Bearer <API_TOKEN>/u);
        assert.equal(answer.headers.get("x-ratelimit-limit"), null);
      }
    }
  });

  test("billing or api_access missing: 403 with -32001, for tools and for the rest", async () => {
    const unpaid = await createTenant(service.database, { billingStatus: "inactive" });
    const unentitled = await createTenant(service.database, { entitlements: ["data_export"] });
    for (const { token } of [unpaid, unentitled]) {
      for (const body of [rpc("initialize"), rpc("tools/list"), toolCall("list_entities")]) {
        const answer = await post(service.address, body, { token });
        expectError(answer, 403, -32001, 1);
        assert.equal(answer.headers.get("www-authenticate"), null);
        assert.equal(answer.headers.get("x-ratelimit-limit"), null);
      }
    }
  });

  test("a shop that is not ready still initializes and lists tools", async () => {
    const early = await createTenant(service.database, { readiness: "backfilling" });
    for (const method of ["initialize", "ping", "tools/list"]) {
      const answer = await post(service.address, rpc(method), { token: early.token });
      assert.equal(answer.status, 200);
      assert.notEqual(answer.message.result, undefined);
    }
    await changeWorkspace(service.database, early, { readiness: "ready" });
    assert.equal(await countedRequests(service.database, early), 0);
  });
});

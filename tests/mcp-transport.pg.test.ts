import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAdmit } from "../src/access/admit.ts";
import { createMcpRoutes } from "../src/mcp/transport.ts";
import { MCP_PATH, expectError, post, rpc, toolCall, withServer, type McpAnswer } from "./support/mcp.ts";
import { service } from "./support/shared-service.ts";
import { changeWorkspace, countedRequests, createTenant, createTokenOf } from "./support/tenants.ts";

const tenant = await createTenant(service.database);

const ask = (body: unknown, headers: Record<string, string> = {}): Promise<McpAnswer> =>
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
    const types = ["text/plain", "application/json-rpc", "application/x-www-form-urlencoded", "nonsense"];
    for (const type of types) {
      expectError(await ask(rpc("ping"), { "content-type": type }), 415, -32600, null);
    }
    const none = await fetch(`${service.address}${MCP_PATH}`, { method: "POST" });
    assert.equal(none.status, 415);
    await none.text();
    const charset = await ask(rpc("ping"), { "content-type": "Application/JSON; charset=UTF-8" });
    assert.equal(charset.status, 200);
  });

  test("a body as large as the limit is read, one byte more is 413", async () => {
    const limit = 65_536;
    const padded = (bytes: number): string => {
      const text = JSON.stringify(rpc("ping"));
      return text + " ".repeat(bytes - text.length);
    };
    assert.equal((await ask(padded(limit))).status, 200);
    expectError(await ask(padded(limit + 1)), 413, -32600, null);
  });

  test("Accept is ignored, and no session is created or required", async () => {
    for (const accept of ["*/*", "application/json", "text/event-stream", "text/html", ""]) {
      const answer = await ask(rpc("ping"), { accept, "mcp-session-id": "made-up" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("mcp-session-id"), null);
    }
  });

  test("a request with an Origin is a browser's: 403 unless it is the service's own or in the list", async () => {
    assert.equal((await ask(rpc("ping"), { origin: service.address })).status, 200);
    expectError(await ask(rpc("ping"), { origin: "https://app.example" }), 403, -32600, null);
    expectError(await post(service.address, "{", { headers: { origin: "null" } }), 403, -32600, null);
    const { keys } = service;
    const { database } = service.installation;
    const admit = createAdmit({ database, pepper: keys.tokenPepper });
    const page = "https://app.example";
    const routes = createMcpRoutes({ operations: [], admit, allowedOrigins: [page], publicOrigin: null });
    await withServer({ operations: [], routeGroups: [routes] }, async (address) => {
      const from = (origin: string) =>
        post(address, rpc("ping"), { token: tenant.token, headers: { origin } });
      for (const other of [`${page}.evil.example`, "http://app.example"])
        assert.equal((await from(other)).status, 403);
      const answer = await from(page);
      assert.deepEqual([answer.status, answer.headers.get("access-control-allow-origin")], [200, page]);
      assert.match(answer.headers.get("access-control-expose-headers") ?? "", /X-RateLimit-Remaining/u);
      const preflight = (origin: string) => {
        const headers = { origin, "access-control-request-method": "POST" };
        return fetch(`${address}${MCP_PATH}`, { method: "OPTIONS", headers });
      };
      const { status, headers } = await preflight(page);
      assert.deepEqual([status, headers.get("access-control-allow-origin")], [204, page]);
      assert.match(headers.get("access-control-allow-headers") ?? "", /^Authorization, Content-Type, /u);
      // A client in a page asks for a stream first; a 405 that the page may not read looks like a failure of the network.
      const stream = await fetch(`${address}${MCP_PATH}`, { headers: { origin: page } });
      for (const [refused, readableBy] of [
        [stream, page],
        [await preflight("https://evil.example"), null],
      ] as const) {
        assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "POST"]);
        assert.equal(refused.headers.get("access-control-allow-origin"), readableBy);
      }
    });
  });
});

describe("order of checks", () => {
  test("method, Origin, content type, size, token, JSON: the first that fails answers", async () => {
    const big = "x".repeat(65_537);
    const plain = { "content-type": "text/plain" };
    const foreign = { origin: "https://evil.example", ...plain };
    expectError(await post(service.address, big, { headers: foreign }), 403, -32600, null);
    expectError(await post(service.address, big, { headers: plain }), 415, -32600, null);
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

  test("a missing or invalid token: 401 with WWW-Authenticate and what to do, whatever the method", async () => {
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

  test("inactive billing or no api_access: 403 with -32001, for tools and all other methods", async () => {
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

describe("messages", () => {
  test("a batch is refused, even an empty one", async () => {
    for (const batch of [[], [rpc("ping")], [rpc("ping"), rpc("ping")]]) {
      expectError(await ask(batch), 400, -32600, null);
    }
  });

  test("anything but JSON in UTF-8 is a parse error", async () => {
    const texts = ["", "{", "nonsense", '{"jsonrpc":"2.0",}', "\u0000", '{"a":"\u0001"}', "'x'"];
    const bytes = [Uint8Array.of(0x22, 0xff, 0x22), Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)];
    for (const body of [...texts, ...bytes]) expectError(await ask(body), 400, -32700, null);
  });

  test("anything but a JSON-RPC message is an invalid request", async () => {
    const bodies = [
      null,
      true,
      1,
      "ping",
      {},
      { id: 1, method: "ping" },
      { jsonrpc: "1.0", id: 1, method: "ping" },
      { jsonrpc: 2, id: 1, method: "ping" },
      { jsonrpc: "2.0", id: 1 },
      { jsonrpc: "2.0", id: 1, method: 5 },
      { jsonrpc: "2.0", id: 1, method: null, result: {} },
      ...["text", 1, null, true].map((params) => ({ ...rpc("ping"), params })),
    ];
    for (const body of bodies) expectError(await ask(JSON.stringify(body)), 400, -32600, null);
  });

  test("an id is a string, a number or null, and comes back unchanged", async () => {
    for (const id of [null, 0, -1, 7, 1.5, 2 ** 53 - 1, "", "a", "1", "\ud800", '"', "x".repeat(1000)]) {
      const answer = await ask({ jsonrpc: "2.0", id, method: "ping" });
      assert.equal(answer.status, 200);
      assert.equal(answer.message.id, id);
      assert.deepEqual(answer.message.result, {});
    }
    for (const id of ["{}", "[1]", "true", "9007199254740993", "1e308"]) {
      const answer = await ask(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expectError(answer, 400, -32600, null);
    }
  });

  test("a message without id, and a response, get 202 with an empty body", async () => {
    const messages = [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
      { jsonrpc: "2.0", method: "unknown" },
      { jsonrpc: "2.0", method: "tools/call", params: { name: "list_entities", arguments: {} } },
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: "a", error: { code: -32601, message: "no" } },
    ];
    const counted = await countedRequests(service.database, tenant);
    for (const message of messages) {
      const answer = await ask(message);
      assert.equal(answer.status, 202);
      assert.equal(answer.headers.get("content-length"), "0");
      assert.equal(answer.headers.get("content-type"), null);
    }
    assert.equal(await countedRequests(service.database, tenant), counted);
  });

  test("an unknown method is -32601 at HTTP 200, server/discover as well", async () => {
    const methods = ["server/discover", "resources/list", "prompts/list", "logging/setLevel", "tools/call "];
    for (const method of [...methods, "", "__proto__", "constructor", "toString"]) {
      expectError(await ask(rpc(method)), 200, -32601, 1);
    }
  });

  test("server/discover without a version in _meta is -32601 at HTTP 200, so that its client falls back", async () => {
    for (const version of ["2025-06-18", "2025-11-25", "2027-01-01"]) {
      expectError(await ask(rpc("server/discover"), { "mcp-protocol-version": version }), 200, -32601, 1);
    }
  });

  test("MCP-Protocol-Version: absent or known is served, unknown is 400, but not on initialize", async () => {
    for (const version of ["2025-06-18", "2025-11-25"]) {
      assert.equal((await ask(rpc("ping"), { "mcp-protocol-version": version })).status, 200);
    }
    for (const version of ["2027-01-01", "2024-11-05", "1", "nonsense"]) {
      const headers = { "mcp-protocol-version": version };
      for (const body of [rpc("ping"), rpc("unknown"), toolCall("list_entities")])
        expectError(await ask(body, headers), 400, -32600, 1);
      const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
      expectError(await ask(notification, headers), 400, -32600, null);
      assert.equal((await ask(rpc("initialize"), headers)).status, 200);
    }
  });
});

describe("methods", () => {
  test("initialize agrees on a known version and never refuses", async () => {
    const asked: [unknown, string][] = [
      ["2025-06-18", "2025-06-18"],
      ["2025-11-25", "2025-11-25"],
      ["2024-11-05", "2025-06-18"],
      ["2099-01-01", "2025-06-18"],
      [5, "2025-06-18"],
      [undefined, "2025-06-18"],
    ];
    for (const [protocolVersion, expected] of asked) {
      const { message } = await ask(rpc("initialize", { protocolVersion, capabilities: {}, surprise: [1] }));
      const { instructions, ...result } = message.result ?? {};
      assert.ok(instructions);
      assert.deepEqual(result, {
        protocolVersion: expected,
        capabilities: { tools: {} },
        serverInfo: { name: "returns-analytics", title: "Returns Analytics", version: "2026-07-05" },
      });
    }
  });

  test("unknown members of params and _meta are ignored; params that are no object are -32602", async () => {
    const params = { _meta: { progressToken: 1, "x/y": null }, extra: true };
    assert.deepEqual((await ask(rpc("ping", params))).message.result, {});
    for (const method of ["initialize", "ping", "tools/list", "tools/call"]) {
      expectError(await ask({ ...rpc(method), params: [] }), 200, -32602, 1);
    }
  });

  test("tools/list is the same for every scope and takes no cursor", async () => {
    const { token } = await createTokenOf(service.database, tenant.shopKey, { scopes: ["read:alerts"] });
    const all = await ask(rpc("tools/list"));
    assert.equal((await post(service.address, rpc("tools/list"), { token })).text, all.text);
    for (const cursor of ["", "x", 1, {}]) {
      expectError(await ask(rpc("tools/list", { cursor })), 200, -32602, 1);
    }
  });

  test("an unknown tool, a missing name and arguments that are no object are -32602", async () => {
    const names = ["unknown", "", "list_entities ", "LIST_ENTITIES", "__proto__", "export-report", 5, null];
    for (const name of names) {
      expectError(await ask(rpc("tools/call", { name, arguments: {} })), 200, -32602, 1);
    }
    expectError(await ask(rpc("tools/call")), 200, -32602, 1);
    expectError(await ask(rpc("tools/call", { arguments: {} })), 200, -32602, 1);
    for (const values of [null, [], [1], "q", 5, true]) {
      expectError(await ask(toolCall("list_entities", values)), 200, -32602, 1);
    }
    assert.equal((await ask(rpc("tools/call", { name: "list_entities" }))).message.result?.isError, false);
  });
});

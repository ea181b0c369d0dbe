import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { expectError, post, rpc, toolCall } from "./support/mcp.ts";
import type { RpcAnswer } from "./support/mcp.ts";
import { service } from "./support/shared-service.ts";
import { countedRequests, createTenant, createTokenOf } from "./support/tenants.ts";

const tenant = await createTenant(service.database);

const ask = (body: unknown, headers: Record<string, string> = {}): Promise<RpcAnswer> =>
  post(service.address, body, { token: tenant.token, headers });

describe("messages", () => {
  test("a batch is refused, the empty one too", async () => {
    for (const batch of [[], [rpc("ping")], [rpc("ping"), rpc("ping")]]) {
      expectError(await ask(batch), 400, -32600, null);
    }
  });

  test("what is no JSON in UTF-8 is a parse error", async () => {
    const texts = ["", "{", "nonsense", '{"jsonrpc":"2.0",}', "\u0000", '{"a":"\u0001"}', "'x'"];
    const bytes = [Uint8Array.of(0x22, 0xff, 0x22), Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)];
    for (const body of [...texts, ...bytes]) expectError(await ask(body), 400, -32700, null);
  });

  test("what is no JSON-RPC message is an invalid request", async () => {
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

  test("an id is a string or a whole number that comes back unchanged", async () => {
    for (const id of [0, -1, 7, 2 ** 53 - 1, "", "a", "1", "\ud800", '"', "x".repeat(1000)]) {
      const answer = await ask({ jsonrpc: "2.0", id, method: "ping" });
      assert.equal(answer.status, 200);
      assert.equal(answer.message.id, id);
      assert.deepEqual(answer.message.result, {});
    }
    for (const id of ["null", "1.5", "{}", "[1]", "true", "9007199254740993", "1e308"]) {
      const answer = await ask(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expectError(answer, 400, -32600, null);
    }
  });

  test("a message without id, and a response, is owed nothing: 202 with an empty body", async () => {
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
    const methods = [
      "server/discover",
      "resources/list",
      "prompts/list",
      "logging/setLevel",
      "",
      "__proto__",
    ];
    for (const method of [...methods, "constructor", "toString", "tools/call "]) {
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
      expectError(await ask(rpc("ping"), headers), 400, -32600, 1);
      expectError(await ask(rpc("unknown"), headers), 400, -32600, 1);
      expectError(await ask(toolCall("list_entities"), headers), 400, -32600, 1);
      expectError(
        await ask({ jsonrpc: "2.0", method: "notifications/initialized" }, headers),
        400,
        -32600,
        null,
      );
      assert.equal((await ask(rpc("initialize"), headers)).status, 200);
    }
  });
});

describe("methods", () => {
  test("initialize agrees on a known version and never refuses one", async () => {
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
      assert.equal(message.result?.["protocolVersion"], expected);
      assert.deepEqual(message.result?.["capabilities"], { tools: {} });
      assert.equal(
        Object.keys(message.result ?? {}).join(" "),
        "protocolVersion capabilities serverInfo instructions",
      );
      assert.deepEqual(message.result?.["serverInfo"], {
        name: "returns-analytics",
        title: "Returns Analytics",
        version: "2026-07-05",
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
    for (const name of [
      "unknown",
      "",
      "list_entities ",
      "LIST_ENTITIES",
      "__proto__",
      "export-report",
      5,
      null,
    ]) {
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

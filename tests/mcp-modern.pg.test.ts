import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TOOLS } from "../src/contract/tools.ts";
import { expectError, modernHeaders, modernMeta, post, rpc, toolCall } from "./support/mcp.ts";
import type { McpAnswer } from "./support/mcp.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { countedRequests, createTenant, createTokenOf } from "./support/tenants.ts";

const tenant = await createSmallStore(service.database);

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const SERVER = {
  "io.modelcontextprotocol/serverInfo": {
    name: "returns-analytics",
    title: "Returns Analytics",
    version: "2026-07-05",
  },
};

const send = (body: unknown, headers: Record<string, string>, token = tenant.token): Promise<McpAnswer> =>
  post(service.address, body, { token, headers });

type Change = {
  params?: Record<string, unknown>;
  meta?: unknown;
  headers?: Record<string, string | undefined>;
};

/** Sends a request as revision 2026-07-28 requires, with the test's changes. */
const ask = (method: string, { params = {}, meta = modernMeta(), headers = {} }: Change = {}) => {
  const name = typeof params["name"] === "string" ? params["name"] : undefined;
  return send(rpc(method, { ...params, _meta: meta }), modernHeaders(method, name, headers));
};

describe("results", () => {
  test("server/discover states the versions, the capabilities and how long the answer may be cached", async () => {
    const { status, message } = await ask("server/discover");
    assert.equal(status, 200);
    const { instructions, ...result } = message.result ?? {};
    assert.deepEqual(result, {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      ttlMs: 3_600_000,
      cacheScope: "public",
      _meta: SERVER,
    });
    const { message: initialized } = await send(rpc("initialize"), {});
    assert.equal(instructions, initialized.result?.["instructions"]);
  });

  test("tools/list is the list of 2025-06-18, the same for every token, with how long it may be cached", async () => {
    const { token } = await createTokenOf(service.database, tenant.shopKey, { scopes: ["read:alerts"] });
    const body = rpc("tools/list", { _meta: modernMeta() });
    for (const one of [tenant.token, token]) {
      const { message } = await send(body, modernHeaders("tools/list"), one);
      assert.deepEqual(message.result, {
        resultType: "complete",
        tools: JSON.parse(JSON.stringify(TOOLS)) as unknown,
        ttlMs: 3_600_000,
        cacheScope: "public",
        _meta: SERVER,
      });
    }
    expectError(await ask("tools/list", { params: { cursor: "x" } }), 200, -32602, 1);
  });

  test("tools/call has the content of 2025-06-18, counted once, with the headers of the quota", async () => {
    const limited = await createSmallStore(service.database, { dailyQuota: 10 });
    const cases = [
      ["list_entities", { q: "jacket" }, false],
      ["get_summary", { start_month: "2026-13" }, true],
    ] as const;
    for (const [index, [name, values, isError]] of cases.entries()) {
      const params = { name, arguments: values };
      const modern = await send(
        rpc("tools/call", { ...params, _meta: modernMeta() }),
        modernHeaders("tools/call", name),
        limited.token,
      );
      assert.equal(modern.status, 200);
      assert.equal(modern.headers.get("x-ratelimit-remaining"), String(10 - (2 * index + 1)));
      const { message } = await post(service.address, rpc("tools/call", params), { token: limited.token });
      assert.equal(message.result?.isError, isError);
      assert.deepEqual(modern.message.result, { resultType: "complete", ...message.result, _meta: SERVER });
    }
    assert.equal(await countedRequests(service.database, limited), 4);
  });

  test("a token without the tool's scope, and one without a plan, are refused as before", async () => {
    const { token } = await createTokenOf(service.database, tenant.shopKey, { scopes: ["read:alerts"] });
    const body = { ...toolCall("list_entities"), params: { name: "list_entities", _meta: modernMeta() } };
    const headers = modernHeaders("tools/call", "list_entities");
    const { message } = await send(body, headers, token);
    assert.equal(message.result?.["resultType"], "complete");
    assert.equal(message.result?.isError, true);
    expectError(await post(service.address, body, { headers }), 401, -32001, 1);
    const unpaid = await createTenant(service.database, { billingStatus: "inactive" });
    expectError(await send(body, headers, unpaid.token), 403, -32001, 1);
  });
});

describe("refusals", () => {
  test("an unknown method is 404, and so are the methods that this revision removed", async () => {
    const removed = ["initialize", "ping", "logging/setLevel", "resources/subscribe"];
    for (const method of [...removed, "subscriptions/listen", "prompts/list", "__proto__", "toString"]) {
      const answer = await ask(method);
      expectError(answer, 404, -32601, 1);
      assert.match(answer.message.error?.message ?? "", /server\/discover, tools\/list and tools\/call/u);
    }
  });

  test("an unsupported version is 400 with the supported ones, before any other check", async () => {
    for (const requested of ["2027-01-01", "2025-06-18", "2025-11-25", "v999", ""]) {
      for (const meta of [modernMeta({ [VERSION]: requested }), { [VERSION]: requested }]) {
        for (const header of [requested, undefined]) {
          const headers = { "mcp-protocol-version": header, "mcp-method": undefined };
          const answer = await ask("unknown", { meta, headers });
          expectError(answer, 400, -32022, 1);
          assert.deepEqual(answer.message.error?.data, { supported: ["2026-07-28"], requested });
        }
      }
    }
  });

  test("a missing member of _meta is 400 with -32602 and its name; clientInfo may be missing", async () => {
    const cases: [unknown, string][] = [
      [undefined, VERSION],
      [null, VERSION],
      ["2026-07-28", VERSION],
      [{}, VERSION],
      [modernMeta({ [VERSION]: undefined }), VERSION],
      [modernMeta({ [VERSION]: 20260728 }), VERSION],
      [modernMeta({ [CAPABILITIES]: undefined }), CAPABILITIES],
      [modernMeta({ [CAPABILITIES]: [] }), CAPABILITIES],
    ];
    for (const [meta, member] of cases) {
      for (const method of ["server/discover", "tools/list", "unknown"]) {
        const answer = await send(rpc(method, { _meta: meta }), modernHeaders(method));
        expectError(answer, 400, -32602, 1);
        assert.ok(answer.message.error?.message.includes(member), answer.text);
      }
    }
    expectError(await send(rpc("tools/list"), modernHeaders("tools/list")), 400, -32602, 1);
    const list = { ...rpc("tools/list"), params: [] };
    expectError(await send(list, modernHeaders("tools/list")), 400, -32602, 1);
    const { status } = await ask("server/discover", { meta: modernMeta({ [CLIENT_INFO]: undefined }) });
    assert.equal(status, 200);
  });

  test("a header that is missing or contradicts the body is 400 with -32020", async () => {
    const call = { name: "list_entities", arguments: {} };
    const cases: [string, Record<string, string | undefined>, string][] = [
      ["tools/list", { "mcp-protocol-version": undefined }, "MCP-Protocol-Version"],
      ["tools/list", { "mcp-protocol-version": "2025-06-18" }, "MCP-Protocol-Version"],
      ["tools/list", { "mcp-protocol-version": "2027-01-01" }, "MCP-Protocol-Version"],
      ["tools/list", { "mcp-method": undefined }, "Mcp-Method"],
      ["tools/list", { "mcp-method": "tools/call" }, "Mcp-Method"],
      ["tools/list", { "mcp-method": "TOOLS/LIST" }, "Mcp-Method"],
      ["unknown", { "mcp-method": "tools/list" }, "Mcp-Method"],
      ["tools/call", { "mcp-name": undefined }, "Mcp-Name"],
      ["tools/call", { "mcp-name": "get_summary" }, "Mcp-Name"],
      ["tools/call", { "mcp-name": "LIST_ENTITIES" }, "Mcp-Name"],
      ["tools/call", { "mcp-name": "=?base64?Z2V0X3N1bW1hcnk=?=" }, "Mcp-Name"],
      ["tools/call", { "mcp-name": "=?base64?bGlzdF9lbnRpdGllcw?=" }, "Mcp-Name"],
    ];
    const counted = await countedRequests(service.database, tenant);
    for (const [method, headers, name] of cases) {
      const answer = await ask(method, { params: method === "tools/call" ? call : {}, headers });
      expectError(answer, 400, -32020, 1);
      assert.ok(answer.message.error?.message.includes(name), answer.text);
    }
    assert.equal(await countedRequests(service.database, tenant), counted);
  });

  test("Mcp-Name may have spaces around it, and be in Base64", async () => {
    const params = { name: "list_entities", arguments: { limit: 1 } };
    for (const name of ["  list_entities ", "=?base64?bGlzdF9lbnRpdGllcw==?="]) {
      const { message } = await ask("tools/call", { params, headers: { "mcp-name": name } });
      assert.equal(message.result?.isError, false);
    }
    const headers = { "mcp-name": `=?base64?${Buffer.from("größe").toString("base64")}?=` };
    expectError(await ask("tools/call", { params: { name: "größe" }, headers }), 200, -32602, 1);
  });

  test("an unknown tool, a missing name and arguments that are no object are -32602", async () => {
    for (const params of [{ name: "unknown" }, {}, { name: 5 }, { name: "list_entities", arguments: [] }]) {
      expectError(await ask("tools/call", { params }), 200, -32602, 1);
    }
  });
});

describe("the revision of a message", () => {
  test("is 2026-07-28 by the version in _meta, or by the header on anything but initialize", async () => {
    const header = { "mcp-protocol-version": "2026-07-28" };
    const { message } = await send(rpc("initialize", { protocolVersion: "2026-07-28" }), header);
    assert.equal(message.result?.["protocolVersion"], "2025-06-18");
    assert.deepEqual(message.result?.["capabilities"], { tools: {} });
    expectError(await send(rpc("ping"), header), 400, -32602, 1);
    expectError(await send(rpc("ping", { _meta: modernMeta() }), {}), 400, -32020, 1);
    assert.deepEqual((await send(rpc("ping"), {})).message.result, {});
  });

  test("does not depend on earlier messages: both kinds alternate on one connection", async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      assert.equal((await ask("server/discover")).message.result?.["resultType"], "complete");
      const { message } = await send(rpc("initialize", { protocolVersion: "2025-11-25" }), {});
      assert.equal(message.result?.["protocolVersion"], "2025-11-25");
      const list = await send(rpc("tools/list"), { "mcp-protocol-version": "2025-11-25" });
      assert.deepEqual(Object.keys(list.message.result ?? {}), ["tools"]);
      assert.equal((await ask("tools/list")).message.result?.["cacheScope"], "public");
    }
  });

  test("applies to notifications, which are accepted, and to responses and batches, which are refused", async () => {
    const header = { "mcp-protocol-version": "2026-07-28" };
    const notification = { jsonrpc: "2.0", method: "notifications/cancelled" };
    assert.equal((await send(notification, header)).status, 202);
    expectError(await send({ jsonrpc: "2.0", id: 1, result: {} }, header), 400, -32600, null);
    expectError(await send([rpc("tools/list")], header), 400, -32600, null);
    expectError(await send("{", header), 400, -32700, null);
  });
});

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createAdmit } from "../src/access/admit.ts";
import { traced } from "../src/lib/trace.ts";
import { only, startCollector, traceWhile, treeOf } from "./support/collector.ts";
import { countLockWaits } from "./support/locks.ts";
import { post, rpc, toolCall } from "./support/mcp.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { withoutTable } from "./support/table-away.ts";
import { changeWorkspace, type Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";
import { before, use } from "./support/use.ts";

const collector = use(startCollector);
let service: TestService;
let tenant: Tenant;
before(async () => {
  // A server that starts while traces are on has the hooks for them.
  await traceWhile(collector, async () => {
    service = await startTestService();
  });
  tenant = await createSmallStore(service.database);
});
after(() => service.stop());

const PATH = "/api/v1/summary";
const CALLER = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const SAMPLED = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const UNSAMPLED = `00-${CALLER.traceId}-${CALLER.spanId}-00`;

/** Counts requests, each for months that are not yet in a response cache. */
let asked = 0;
const freshParams = () => {
  asked += 1;
  const month = new Date(Date.UTC(2020, asked)).toISOString().slice(0, 7);
  return { start_month: month, end_month: "2026-06" };
};

async function ask(headers: Record<string, string> = {}): Promise<void> {
  const answer = await service.call(PATH, { token: tenant.token, params: freshParams(), headers });
  assert.equal(answer.status, 200, answer.text);
}

test("a request is one trace: admission, the answer, and each statement by its name", async () => {
  // From then on a server on Citus knows the shop's node.
  await ask();
  const { spans } = await traceWhile(collector, () => ask());
  assert.deepEqual(treeOf(spans), {
    "GET /api/v1/summary": {
      admission: { admit_callers: {} },
      answer: { load_workspace: {}, load_cohort: {} },
    },
  });
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  const server = only(spans, "GET /api/v1/summary");
  assert.equal(server.kind, 2);
  assert.deepEqual(server.attributes, {
    "http.request.method": "GET",
    "url.scheme": "http",
    "http.route": "/api/v1/summary",
    "http.response.status_code": 200,
  });
  const admission = only(spans, "admission").attributes;
  assert.equal(admission["returns.verdict"], "admitted");
  assert.equal(admission["returns.batch_requests"], 1);
  assert.ok(Number(admission["returns.queue_wait_ms"]) >= 0);
  const statement = only(spans, "admit_callers");
  assert.equal(statement.kind, 3);
  assert.deepEqual(statement.attributes, {
    "db.system.name": "postgresql",
    "db.query.summary": "admit_callers",
  });
});

test("the span of an answer says whether the response cache had it", async () => {
  const params = freshParams();
  const { spans } = await traceWhile(collector, async () => {
    for (let time = 0; time < 2; time++) await service.call(PATH, { token: tenant.token, params });
  });
  const answers = spans.filter(({ name }) => name === "answer");
  assert.deepEqual(
    answers.map(({ attributes }) => attributes),
    ["miss", "hit"].map((cache) => ({ "returns.endpoint": "summary", "returns.response_cache": cache })),
  );
  assert.deepEqual(treeOf(spans, answers[1]?.spanId), {});
});

test("the resource has the service's name, its version, and the operator's attributes", async () => {
  const { spans } = await traceWhile(collector, () => ask(), {
    OTEL_SERVICE_NAME: "returns-eu",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=production,note=a%20b",
  });
  const { resource } = only(spans, "admission");
  assert.equal(resource["service.name"], "returns-eu");
  assert.match(String(resource["service.version"]), /^\d+\.\d+\.\d+/u);
  assert.equal(resource["deployment.environment.name"], "production");
  assert.equal(resource["note"], "a b");
});

test("a request that is not sampled leaves no span", async () => {
  for (const options of [
    { OTEL_TRACES_SAMPLER_ARG: "0" },
    { OTEL_TRACES_SAMPLER: "always_off" },
    { OTEL_SDK_DISABLED: "true" },
  ] as Record<string, string>[]) {
    const { spans } = await traceWhile(collector, () => ask(), options);
    assert.deepEqual(spans, [], JSON.stringify(options));
  }
});

test("a stranger's traceparent is not continued: the request gets its own trace, with a link to the caller's", async () => {
  const { spans } = await traceWhile(collector, () => ask({ traceparent: SAMPLED }));
  const server = only(spans, "GET /api/v1/summary");
  assert.notEqual(server.traceId, CALLER.traceId);
  assert.equal(server.parentSpanId, "");
  assert.deepEqual(server.links, [CALLER]);
  const out = await traceWhile(collector, () => ask({ traceparent: SAMPLED }), {
    OTEL_TRACES_SAMPLER_ARG: "0",
  });
  assert.deepEqual(out.spans, []);
  for (const traceparent of [UNSAMPLED, "00-0-0-01", `00-${"0".repeat(32)}-${CALLER.spanId}-01`]) {
    const own = await traceWhile(collector, () => ask({ traceparent }));
    assert.deepEqual(only(own.spans, "GET /api/v1/summary").links, []);
  }
});

test("with TRUST_TRACEPARENT a caller's trace is continued, and sampled as the caller decided", async () => {
  const trusting = { TRUST_TRACEPARENT: "true", OTEL_TRACES_SAMPLER_ARG: "0" };
  const { spans } = await traceWhile(collector, () => ask({ traceparent: SAMPLED }), trusting);
  const server = only(spans, "GET /api/v1/summary");
  assert.deepEqual([server.traceId, server.parentSpanId], [CALLER.traceId, CALLER.spanId]);
  assert.equal(only(spans, "admit_callers").traceId, CALLER.traceId);
  const out = await traceWhile(collector, () => ask({ traceparent: UNSAMPLED }), {
    TRUST_TRACEPARENT: "true",
  });
  assert.deepEqual(out.spans, []);
});

test("a hanging or unreachable collector neither fails nor delays a request", async () => {
  const params = freshParams();
  const askMany = async (): Promise<number> => {
    const startedAt = performance.now();
    for (let round = 0; round < 30; round++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => service.call(PATH, { token: tenant.token, params })),
      );
      assert.ok(answers.every(({ status }) => status === 200));
    }
    return performance.now() - startedAt;
  };
  await askMany();
  const untracedMs = await askMany();
  collector.answer("hang");
  try {
    for (const options of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }] as Record<
      string,
      string
    >[]) {
      const { logs } = await traceWhile(
        collector,
        async () => assert.ok((await askMany()) < 5 * untracedMs + 1000),
        options,
      );
      assert.equal(logs.length, 1);
    }
  } finally {
    collector.answer(200);
  }
});

test("the log line of a sampled request has its trace_id, and no other line has one", async () => {
  const linesBefore = service.logs.length;
  const { spans } = await traceWhile(collector, () => ask());
  await traceWhile(collector, () => ask(), { OTEL_TRACES_SAMPLER_ARG: "0" });
  const lines = service.logs.slice(linesBefore).map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    lines.filter(({ msg }) => msg === "request").map((line) => line["trace_id"]),
    [only(spans, "admission").traceId, undefined],
  );
});

test("a tool call names its tool, also if its body arrives in several chunks", async () => {
  const { spans } = await traceWhile(collector, async () => {
    await post(service.address, toolCall("get_summary", { note: "x".repeat(5000) }), tenant);
    await post(service.address, rpc("tools/list", {}), tenant);
    await post(service.address, rpc("no/such-method", {}), tenant);
  });
  const requests = spans
    .filter(({ name }) => name === "POST /api/v1/mcp")
    .map(({ attributes }) => attributes);
  assert.deepEqual(
    requests.map((attributes) => [attributes["mcp.method.name"], attributes["gen_ai.tool.name"]]),
    [
      ["tools/call", "get_summary"],
      ["tools/list", undefined],
      [undefined, undefined],
    ],
  );
});

test("a refusal is not an error of its span; a failure is, with its class", async () => {
  const refused = await traceWhile(collector, async () => {
    assert.equal(
      (await service.call(PATH, { token: tenant.token, params: { ...freshParams(), window: "x" } })).status,
      400,
    );
    assert.equal(
      (await service.call("/api/v1/product", { token: tenant.token, params: { sku: "none" } })).status,
      404,
    );
    assert.equal((await service.call(PATH)).status, 401);
  });
  assert.deepEqual(
    refused.spans.filter(({ isError }) => isError),
    [],
  );
  await withoutTable(service.database, "cohort", async () => {
    const failed = await traceWhile(collector, async () => {
      const params = freshParams();
      assert.equal((await service.call(PATH, { token: tenant.token, params })).status, 500);
    });
    const errors = failed.spans.filter(({ isError }) => isError);
    assert.deepEqual(
      errors.map(({ name, attributes }) => [name, attributes["error.type"]]),
      [
        ["load_cohort", "42P01"],
        ["answer", "42P01"],
        ["GET /api/v1/summary", "500"],
      ],
    );
  });
});

test("requests that are admitted together share a statement, and each span has their number", async () => {
  const { keys } = service;
  const { database } = service.installation;
  const admit = createAdmit({ database, pepper: keys.tokenPepper });
  const need = { scope: null, entitlements: [], counted: false };
  const { spans } = await traceWhile(collector, () =>
    Promise.all(
      ["first", "second"].map((name) =>
        traced({ name, isRoot: true }, () => admit(`Bearer ${tenant.token}`, need)),
      ),
    ),
  );
  const admissions = spans.filter(({ name }) => name === "admission");
  assert.deepEqual(
    admissions.map(({ attributes }) => attributes["returns.batch_requests"]),
    [2, 2],
  );
  assert.equal(only(spans, "admit_callers").traceId, only(spans, "first").traceId);
});

test("a caller that disconnects before the answer ends the span with an error", async () => {
  const locking = await service.database.connect();
  try {
    await locking.query("begin");
    await locking.query("lock table cohort");
    const { spans } = await traceWhile(collector, async () => {
      const leaving = new AbortController();
      const url = `${service.address}${PATH}?${new URLSearchParams(freshParams()).toString()}`;
      const headers = { authorization: `Bearer ${tenant.token}` };
      const answer = fetch(url, { headers, signal: leaving.signal });
      await eventually(async () => (await countLockWaits(service.database)) > 0, "the statement waits");
      leaving.abort();
      await assert.rejects(answer);
      await locking.query("rollback");
      // When the next request is answered, the server has noticed that the caller disconnected.
      await ask();
    });
    const ends = spans
      .filter(({ name }) => name === "GET /api/v1/summary")
      .map(({ attributes }) => attributes["error.type"]);
    assert.deepEqual(ends, ["connection_closed", undefined]);
  } finally {
    await locking.query("rollback");
    locking.release();
  }
});

test("no span contains anything that a caller sends, owns or is named", async () => {
  const canary = "CaNaRy7361";
  const domain = `${canary.toLowerCase()}.example`;
  await changeWorkspace(service.database, tenant, { shop_domain: domain });
  const headers = {
    "user-agent": canary,
    "x-request-id": canary,
    origin: `https://${canary}.example`,
    traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01-${canary}`,
    tracestate: `vendor=${canary}`,
    baggage: `name=${canary}`,
    "x-forwarded-host": `${canary}.example`,
  };
  const { spans } = await traceWhile(collector, async () => {
    await service.call(PATH, { token: tenant.token, params: { sku: canary }, headers });
    await service.call(PATH, { token: tenant.token, params: { [canary]: canary } });
    await service.call("/api/v1/entities", { token: tenant.token, params: { q: canary, type: "sku" } });
    await fetch(`${service.address}/${canary}?q=${canary}`, { headers });
    await fetch(`${service.address}/w/${domain}/report?q=${canary}`, { headers });
    await post(service.address, toolCall("get_summary", { sku: canary }), { token: tenant.token });
    await post(service.address, toolCall(canary, { sku: canary }), { token: tenant.token });
    await post(service.address, rpc(canary, { name: canary }), { token: tenant.token });
  });
  assert.ok(spans.length > 20, String(spans.length));
  const sent = collector.bodies.map(({ body }) => body.toString().toLowerCase()).join("\n");
  const secrets = [canary, domain, tenant.shopDomain, tenant.token, tenant.tokenId, "127.0.0.1"];
  for (const secret of secrets) assert.ok(!sent.includes(secret.toLowerCase()), secret);
});

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, mock, test } from "node:test";
import { filledPath, pathNames } from "../src/contract/endpoint.ts";
import { INTERNAL_ERROR_MESSAGE, errorBody } from "../src/contract/errors.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { summary } from "../src/contract/summary.ts";
import { DEMO_DAY, startDemoService, type DemoService } from "./docs-demo.ts";
import { post, toolCall } from "./support/mcp.ts";
import { changeWorkspace, createTokenOf } from "./support/tenants.ts";

const FILE = join(import.meta.dirname, "..", "src", "http", "openapi-examples.json");

const LISTED_ROWS = 2;
const CSV_LINES = 8;

let demo: DemoService;

before(async () => {
  mock.timers.enable({ apis: ["Date"], now: new Date(`${DEMO_DAY}T06:00:00Z`) });
  demo = await startDemoService();
});
after(async () => {
  await demo.stop();
  mock.timers.reset();
});

test("the document's examples equal the answers for the demo store", async () => {
  const endpoints: Record<string, unknown> = {};
  for (const { name, path, example, response } of ENDPOINTS) {
    const values = Object.fromEntries(new URLSearchParams(example));
    const query = Object.entries(values).filter(([member]) => !pathNames(path).includes(member));
    const { status, text } = await ask(
      `${filledPath(path, values)}?${new URLSearchParams(query).toString()}`,
      demo.tenant.token,
    );
    assert.equal(status, 200, text);
    endpoints[name] = response === null ? firstLines(text) : shortened(JSON.parse(text));
  }
  const examples = { endpoints, mcp: await mcpExample(), errors: await errorExamples() };
  const written = `${JSON.stringify(examples, null, 2)}\n`;
  if (process.env["UPDATE_SNAPSHOT"] === "1") writeFileSync(FILE, written);
  assert.deepEqual(JSON.parse(readFileSync(FILE, "utf8")), examples, "UPDATE_SNAPSHOT=1 rewrites them");
});

async function mcpExample() {
  const request = toolCall("get_summary", Object.fromEntries(new URLSearchParams(summary.example)));
  const { message } = await post(demo.service.address, request, { token: demo.tenant.token });
  return { request, answer: message };
}

/** A real body of each refusal; that of a failure of the service is fixed. */
async function errorExamples(): Promise<Record<string, unknown>> {
  const { service, tenant } = demo;
  const narrow = await createTokenOf(service.database, tenant.shopKey, { scopes: ["read:alerts"] });
  const path = "/api/v1/summary?start_month=2026-01&end_month=2026-05";
  const bodies: Record<string, unknown> = {
    400: await refusal(400, `${path}&window=60d`, tenant.token),
    401: await refusal(401, path, "rta_live_unknown"),
    403: await refusal(403, path, narrow.token),
  };
  await changeWorkspace(service.database, tenant, { readiness: "backfilling" });
  bodies[409] = await refusal(409, path, tenant.token);
  await changeWorkspace(service.database, tenant, { readiness: "ready" });
  await service.database.query("update daily_usage set requests = 25000 where shop_key = $1", [
    tenant.shopKey,
  ]);
  bodies[429] = await refusal(429, path, tenant.token);
  return { ...bodies, 500: errorBody("internal_error", INTERNAL_ERROR_MESSAGE) };
}

async function refusal(status: number, path: string, token: string): Promise<unknown> {
  const answer = await ask(path, token);
  assert.equal(answer.status, status, answer.text);
  // The database's own clock decides when the day ends.
  return JSON.parse(answer.text.replace(/\d{4}-\d{2}-\d{2}T00:00:00\.000Z/u, "2026-07-02T00:00:00.000Z"));
}

async function ask(path: string, token: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${demo.service.address}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: response.status, text: await response.text() };
}

/** Shortens lists, and makes values that depend on the time of the import the same on every run. */
function shortened(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.slice(0, LISTED_ROWS).map((row) => shortened(row));
  if (key === "created_at") return `${DEMO_DAY}T00:00:07.000Z`;
  if (key === "id") return "01985c3e-9a00-7c41-b1f2-6d0f5a3e8c77";
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member, name)]));
}

function firstLines(csv: string): string {
  return csv
    .split("\r\n")
    .slice(0, CSV_LINES)
    .map((line) => `${line}\r\n`)
    .join("");
}

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import { runClientProgram, runPasted } from "./support/command.ts";
import { alerts } from "../src/contract/alerts.ts";
import type { Endpoint } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { report } from "../src/contract/report.ts";
import { TOOLS } from "../src/contract/tools.ts";
import {
  clientText,
  curlPostText,
  curlRequestText,
  pathText,
  queryLine,
  toolCall,
} from "../src/contract/written-request.ts";
import type { WrittenRequest } from "../src/contract/written-request.ts";
import { makeFolder } from "./support/folder.ts";

type Asked = { url: string; authorization: string | undefined; body: string };

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

const HOSTILE = [
  "it's",
  '"quoted"',
  "back\\slash\\",
  "$(touch changed)",
  "`touch changed`",
  "$TOKEN ${TOKEN}",
  "two\nlines",
  "'; touch changed; '",
  "!! !x",
  "--help",
  "-x",
  "@/etc/hostname",
  "a&b=c#d?e;f|g>h<i",
  "%41+%2B",
  " blank ",
  "* ~ {a,b} [1-3]",
  "Jäckchen 日本 👕",
  "</code><script>",
];
const TOKEN = "secret-token";
const MONTHS = { start_month: "2026-01", end_month: "2026-05" };

const folder = makeFolder();
let address: string;
let asked: Asked[] = [];
const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text: string) => (body += text));
  request.on("end", () => {
    asked.push({ url: request.url ?? "", authorization: request.headers.authorization, body });
    const isCsv = new URL(request.url ?? "", address).pathname.endsWith(".csv");
    response.setHeader("content-type", isCsv ? "text/csv" : "application/json");
    response.end(isCsv ? "section\r\n" : '{"data":[],"meta":{"freshness":null}}');
  });
});

before(async () => {
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => new Promise((done) => void server.close(done)));

/** Runs text in a shell, with a token in its environment, and returns the one request that it sent. */
async function askIn(shell: "sh" | "bash", text: string, cwd = folder): Promise<Asked> {
  return askBy(() => run(shell, ["-euc", text], { cwd, env: { ...process.env, TOKEN } }));
}

async function askBy(ask: () => Promise<unknown>): Promise<Asked> {
  asked = [];
  await ask();
  assert.equal(asked.length, 1);
  const [only] = asked as [Asked];
  assert.equal(only.authorization, `Bearer ${TOKEN}`);
  return only;
}

function valuesOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url, address).searchParams);
}

/** Path and values in order: versions of curl differ in how they encode a space. */
function partsOf(url: string): unknown {
  const { pathname, searchParams } = new URL(url, address);
  return [pathname, [...searchParams]];
}

function requestOf(endpoint: Endpoint, value: string): WrittenRequest {
  const parameters = { sku: value, vendor: value, ...MONTHS, include_incomplete: "true", window: "90d" };
  return { endpoint, parameters };
}

const examples = ENDPOINTS.map((endpoint) => ({
  endpoint,
  parameters: Object.fromEntries(new URLSearchParams(endpoint.example)),
}));

test("a request for curl, pasted into a shell, sends exactly its path and does nothing else", async () => {
  for (const value of HOSTILE) {
    const request = requestOf(report, value);
    for (const shell of ["sh", "bash"] as const) {
      const { url } = await askIn(shell, curlRequestText(address, request));
      assert.deepEqual(partsOf(url), partsOf(pathText(request)));
      assert.equal(valuesOf(url)["sku"], value);
    }
  }
  await assert.rejects(run("ls", [join(folder, "changed")]));
});

test("a body for curl arrives unchanged", async () => {
  for (const value of HOSTILE) {
    const { url, body } = await askIn("sh", curlPostText(address, "/api/v1/mcp", { sku: value }));
    assert.equal(url, "/api/v1/mcp");
    assert.deepEqual(JSON.parse(body), { sku: value });
  }
});

test("./returns query, pasted into a shell, sends the same values", async () => {
  for (const [index, value] of HOSTILE.entries()) {
    const request: WrittenRequest = {
      endpoint: report,
      parameters: { sku: value, vendor: HOSTILE.at(index - 1) ?? "", ...MONTHS, include_incomplete: "true" },
    };
    const line = queryLine(address, request);
    const { url } = await askBy(() => runPasted("sh", line, TOKEN));
    assert.deepEqual(valuesOf(url), request.parameters);
    if (index === 0) assert.equal((await askIn("sh", line, root)).url, url, "the command itself");
  }
});

test("a tool call's arguments match the tool's schema", () => {
  const ajv = new Ajv({ strict: false, formats: { "date-time": true } });
  const schemas = new Map(TOOLS.map((tool) => [tool.name, ajv.compile(tool.inputSchema)]));
  for (const request of [...examples, ...HOSTILE.map((value) => requestOf(report, value))]) {
    const call = toolCall(request);
    if (call === null) {
      assert.equal(request.endpoint.scope, "read:exports");
      continue;
    }
    const isValid = schemas.get(call.name);
    assert.ok(isValid?.(call.arguments), JSON.stringify([call, isValid?.errors]));
  }
});

test("numbers, flags, aliases, foreign names and unknown values are written as each surface accepts them", () => {
  const parameters = {
    store_product_gid: "gid://p/1",
    ...MONTHS,
    include_incomplete: "1",
    include_used_variants: "false",
    reportSection: "nonsense",
    category: "foreign",
    window: "",
  };
  const request = { endpoint: report, parameters };
  const flags = { include_incomplete: true, include_used_variants: false };
  assert.deepEqual(toolCall(request)?.arguments, { product_gid: "gid://p/1", ...MONTHS, ...flags });
  assert.equal(
    queryLine("http://localhost:1", request),
    'RETURNS_TOKEN="$TOKEN" ./returns query report --url http://localhost:1 --product-gid gid://p/1 ' +
      "--start-month 2026-01 --end-month 2026-05 --include-incomplete",
  );
  assert.deepEqual(toolCall({ endpoint: alerts, parameters: { limit: "5" } })?.arguments, { limit: 5 });
});

test("each program compiles, runs and sends the same values", async () => {
  const requests = [...examples, ...HOSTILE.map((value) => requestOf(report, value))];
  const client = join(root, "src/client/client.ts");
  const files = requests.map((request, index) => {
    const program = clientText(address, request).replace(
      '"returns-analytics-client"',
      JSON.stringify(client),
    );
    writeFileSync(join(folder, `program-${index}.mts`), program);
    return `program-${index}.mts`;
  });
  const settings = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
  const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types"), "--skipLibCheck"];
  const words = [...settings, ...types, "--allowImportingTsExtensions", ...files];
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...words], {
    cwd: folder,
  }).catch(({ stdout }: { stdout: string }) => assert.fail(stdout));
  for (const [index, request] of requests.entries()) {
    const { url } = await askBy(() => runClientProgram(join(folder, files[index] ?? ""), TOKEN));
    assert.deepEqual(valuesOf(url), valuesOf(pathText(request)));
  }
});

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { Command } from "commander";
import { addQueryCommands } from "../src/cli/query.ts";
import { pathNames, type Endpoint } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { runCommand } from "./support/command.ts";
import { USUAL_PATH_VALUES } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import { makeFolder } from "./support/folder.ts";

type Ended = { code: number | null; out: string; error: string };

const MONTHS = { start_month: "2025-03", end_month: "2025-05" };
const MONTH_WORDS = ["--start-month", "2025-03", "--end-month", "2025-05"];

const tenant = await createSmallStore(service.database);
const token = tenant.token;
const folder = makeFolder();

/** Runs the command, with the token in the environment unless told otherwise. */
async function query(
  words: readonly string[],
  { environment = {}, input }: { environment?: Record<string, string>; input?: string } = {},
): Promise<Ended> {
  const settings = { RETURNS_URL: service.address, RETURNS_TOKEN: token, ...environment };
  const { code, stdout: out, stderr: error } = await runCommand(["query", ...words], settings, input);
  return { code, out, error };
}

function monthsOf(endpoint: Endpoint): { words: string[]; params: Record<string, string> } {
  const takesMonths = "start_month" in endpoint.parameters.properties;
  const ofPath = pathNames(endpoint.path).flatMap((name) => [`--${name}`, USUAL_PATH_VALUES[name] ?? ""]);
  return { words: [...ofPath, ...(takesMonths ? MONTH_WORDS : [])], params: takesMonths ? MONTHS : {} };
}

for (const endpoint of ENDPOINTS) {
  test(`query ${endpoint.name} prints the endpoint's answer`, async () => {
    const { words, params } = monthsOf(endpoint);
    const answer = await service.call(endpoint.path, { token, params });
    if (endpoint.response === null) {
      const { code, out } = await query([endpoint.name, ...words]);
      assert.deepEqual([code, out], [0, answer.text]);
      return;
    }
    const { code, out, error } = await query([endpoint.name, ...words, "--json"]);
    assert.deepEqual([code, error], [0, ""]);
    assert.deepEqual(JSON.parse(out), JSON.parse(answer.text));
  });
}

test("export downloads tables under their names, and leaves no file of a refused one", async () => {
  const target = join(folder, "tables");
  const words = ["export", target, ..."--table cohorts alerts --format csv --start-month 2026-01".split(" ")];
  const settings = { RETURNS_URL: service.address, RETURNS_TOKEN: token };
  const { code, stderr } = await runCommand(words, settings);
  assert.equal(code, 0, stderr);
  for (const table of ["cohorts", "alerts"]) {
    const params = { table, start_month: "2026-01" };
    const { text } = await service.call("/api/v1/export/tables/{table}.{format}", { token, params });
    assert.equal(readFileSync(join(target, `${table}.csv`), "utf8"), text);
  }
  const { token: narrow } = await createTenant(service.database, { entitlements: ["api_access"] });
  const refused = await runCommand(["export", join(folder, "none")], { ...settings, RETURNS_TOKEN: narrow });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /does not include data_export/u);
  assert.deepEqual(readdirSync(join(folder, "none")), []);
});

test("Every parameter of the contract is an option in kebab case", () => {
  const program = new Command();
  addQueryCommands(program, { environment: {} });
  const commands = program.commands[0]?.commands ?? [];
  for (const endpoint of ENDPOINTS) {
    const command = commands.find((candidate) => candidate.name() === endpoint.name);
    const flags = command?.options.map(({ long }) => long ?? "") ?? [];
    for (const name of Object.keys(endpoint.parameters.properties)) {
      const kebab = name.replaceAll("_", "-").replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
      assert.ok(flags.includes(`--${kebab}`), `${endpoint.name} --${kebab}`);
    }
  }
});

test("Options reach the service: flags, numbers, choices and text", async () => {
  const words = ["--sku", "JACKET-M", "--include-used-variants", "--window", "90d"];
  const params = { ...MONTHS, sku: "JACKET-M", include_used_variants: true, window: "90d" };
  const summary = await query(["summary", ...MONTH_WORDS, ...words, "--json"]);
  assert.deepEqual(
    JSON.parse(summary.out),
    (await service.call("/api/v1/summary", { token, params })).json(),
  );
  const report = await query(["report", ...MONTH_WORDS, "--report-section", "costs", "--json"]);
  assert.equal((JSON.parse(report.out) as { meta: { section: string } }).meta.section, "costs");
});

test("People get a table on standard output, the months, the data's age and the quota on standard error", async () => {
  const { code, out, error } = await query(["return-rate-leaderboard", "--limit", "2"]);
  assert.equal(code, 0);
  assert.match(out, /^sku +sold_units +returned_units +return_rate .*\n[A-Z-]+\d? +\d+ +\d+ +0\.\d+/u);
  assert.match(
    error,
    /^Order months 2025-06 to 2026-05: 12 counted, 0 left out as incomplete; complete through 2026-05\.\nData as of 2026-07-01T06:00:00\.000Z; [\d,]+ of 1,000,000 requests left until .*\.\n$/u,
  );
});

test("--csv prints exactly the rows and columns of the answer", async () => {
  const { code, out, error } = await query(["entities", "--csv", "--limit", "3"]);
  assert.deepEqual([code, error.split("\n").length - 1], [0, 1]);
  const rows = parse(out, { columns: true });
  const { data } = (await service.call("/api/v1/entities", { token, params: { limit: 3 } })).json();
  const texts = data.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === "object" && value !== null ? JSON.stringify(value) : (value ?? ""),
      ]),
    ),
  );
  assert.deepEqual(rows, texts);
});

test("report --csv prints the file of the export, and takes a token that may export", async () => {
  const words = [...MONTH_WORDS, "--sku", "JACKET-M", "--include-used-variants", "--window", "90d"];
  const params = { ...MONTHS, sku: "JACKET-M", include_used_variants: true, window: "90d" };
  const file = await service.call("/api/v1/export/report.csv", { token, params });
  const { code, out, error } = await query(["report", "--csv", ...words]);
  assert.deepEqual([code, out, error], [0, file.text, ""]);
  assert.equal(file.status, 200);

  const { token: reader } = await createTenant(service.database, { scopes: ["read:reports"] });
  const refused = await query(["report", "--csv", ...words], { environment: { RETURNS_TOKEN: reader } });
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.error, /read:exports/u);
});

test("--all follows the cursors to the last page; without it the next cursor is printed", async () => {
  const { data } = (await service.call("/api/v1/alerts", { token, params: { limit: 100 } })).json();
  const all = JSON.parse((await query(["alerts", "--all", "--limit", "2", "--json"])).out) as {
    data: unknown[];
    meta: { returned: number; next_cursor: null };
  };
  assert.deepEqual(all.data, data);
  assert.deepEqual([all.meta.returned, all.meta.next_cursor], [data.length, null]);
  const first = await query(["alerts", "--limit", "2"]);
  const cursor = /--cursor (\S+) /u.exec(first.error)?.[1] ?? "";
  const second = await query(["alerts", "--limit", "2", "--cursor", cursor, "--json"]);
  assert.deepEqual((JSON.parse(second.out) as { data: unknown[] }).data, data.slice(2, 4));
});

test("The token comes from a file, the environment or standard input, never from the command line", async () => {
  const file = join(folder, "token");
  writeFileSync(file, `${token}\n`);
  const none = { RETURNS_TOKEN: "" };
  const words = ["alerts", "--limit", "1", "--csv"];
  const given = [
    await query([...words, "--token-file", file], { environment: none }),
    await query(words, { environment: { ...none, RETURNS_TOKEN_FILE: file } }),
    await query([...words, "--token", "-"], { environment: none, input: `${token}\n` }),
  ];
  for (const { code } of given) assert.equal(code, 0);
  const refused = await query([...words, "--token", token]);
  assert.deepEqual([refused.code, refused.out, refused.error.includes(token)], [2, "", false]);
  const missing = await query(words, { environment: none });
  assert.deepEqual([missing.code, missing.out], [2, ""]);
  assert.match(missing.error, /^A token is needed: .*\.\n$/u);
});

test("With --json a refusal keeps the API's code, status and request id", async () => {
  const cases: [words: string[], environment: Record<string, string>, exit: number, error: object][] = [
    [["alerts", "--limit", "1000"], {}, 2, { code: "invalid_request", status: 400 }],
    [["alerts"], { RETURNS_TOKEN: "rta_live_nonsense" }, 1, { code: "unauthorized", status: 401 }],
  ];
  for (const [words, environment, exit, expected] of cases) {
    const ended = await query([...words, "--json"], { environment });
    assert.deepEqual([ended.code, ended.out], [exit, ""]);
    const { error } = JSON.parse(ended.error) as { error: Record<string, unknown> };
    assert.deepEqual(Object.keys(error), ["code", "message", "status", "request_id"]);
    assert.deepEqual({ code: error["code"], status: error["status"] }, expected);
    assert.match(String(error["request_id"]), /^[\w-]{8,}$/u);
  }
  const away = await query(["alerts", "--json"], { environment: { RETURNS_URL: "http://127.0.0.1:9" } });
  assert.deepEqual(Object.keys((JSON.parse(away.error) as { error: object }).error), ["message"]);
});

test("A failure prints one sentence on standard error: exit code 2 for invalid options, 1 for the rest", async () => {
  const cases: [words: string[], environment: Record<string, string>, code: number, sentence: RegExp][] = [
    [["summary", "--sku", "HAT-1"], {}, 2, /^Required option '--start-month <text>' not specified\.\n$/u],
    [
      ["summary", ...MONTH_WORDS, "--window", "60d"],
      {},
      2,
      /Allowed choices are primary, 30d, 90d, lifetime\.\n$/u,
    ],
    [["alerts", "--limit", "1000"], {}, 2, /^limit must be a whole number from 1 to 100\.\n$/u],
    [
      ["alerts"],
      { RETURNS_URL: "http://returns.example" },
      2,
      /^--url must begin with https:\/\/: .* \(--allow-plain-http permits that\)\.\n$/u,
    ],
    [["alerts", "--url", "nonsense"], {}, 2, /^--url must be .*\.\n$/u],
    [
      ["report", "--csv", ...MONTH_WORDS, "--report-section", "costs"],
      {},
      2,
      /^--csv prints the whole report: leave out --report-section\.\n$/u,
    ],
    [["report", "--csv", "--json", ...MONTH_WORDS], {}, 2, /"Give --json or --csv, not both\."/u],
    [["alerts"], { RETURNS_TOKEN: "rta_live_nonsense" }, 1, /^The API token is .*\.\n$/u],
    [["alerts"], { RETURNS_URL: "http://127.0.0.1:9" }, 1, /--url gives another address\.\n$/u],
    [
      ["export-report", "--json", ...MONTH_WORDS],
      {},
      2,
      /^\{"error":\{"message":"export-report answers CSV;.*\}\n$/u,
    ],
  ];
  for (const [words, environment, code, sentence] of cases) {
    const ended = await query(words, { environment });
    assert.deepEqual([ended.code, ended.out], [code, ""], words.join(" "));
    assert.match(ended.error, sentence);
  }
});

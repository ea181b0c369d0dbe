import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { makeFolder } from "./support/folder.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

/** A program's folder, with the package installed from the running service; npm reaches nothing else. */
const tenant = await createSmallStore(service.database);
const token = tenant.token;
const folder = makeFolder();
const npm = ["--cache", join(folder, "cache"), "--registry", "http://127.0.0.1:9", "--fetch-retries", "0"];
const address = `${service.address}/docs/client.tgz`;
writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "program", type: "module" }));
await run("npm", ["install", "--no-audit", "--no-fund", ...npm, address], { cwd: folder });

const COMMAND = join(folder, "node_modules/.bin/returns-query");

/** Runs a program with the Node.js on the PATH: the oldest that is supported, or a newer one. */
async function runProgram(name: string, source: string): Promise<string> {
  writeFileSync(join(folder, name), source);
  const env = { ...process.env, RETURNS_TOKEN: token };
  return (await run("node", [name], { cwd: folder, env })).stdout;
}

test("The package installs without dependencies and contains only its own code", () => {
  assert.deepEqual(
    readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith(".")),
    ["returns-analytics-client"],
  );
  const library = join(folder, "node_modules/returns-analytics-client/lib");
  for (const file of readdirSync(library, { recursive: true, encoding: "utf8" })) {
    // The command is for Node.js alone.
    if (!/\.(js|ts)$/u.test(file) || file === "command.js") continue;
    const text = readFileSync(join(library, file), "utf8");
    assert.doesNotMatch(text, /from "(?!\.{1,2}\/[\w./-]+\.js")|require\(|node:|process\.|Buffer/u, file);
  }
});

test("A JavaScript program reads figures, pages and a file through the installed package", async () => {
  const output = await runProgram(
    "program.js",
    `import { createClient, iteratePages, ReturnsApiError } from "returns-analytics-client";
const client = createClient({ baseUrl: "${service.address}", token: process.env.RETURNS_TOKEN });
const months = { start_month: "2025-03", end_month: "2026-02" };
const { data, quota } = await client.summary(months);
let entities = 0;
for await (const entity of client.iterateEntities({ limit: 3 })) entities += 1;
let pages = 0;
for await (const page of iteratePages(client.alerts, { limit: 1 })) pages += 1;
const csv = await (await client.exportReport(months)).text();
const code = await client.summary({ ...months, sku: "NONE" }).catch((error) => error instanceof ReturnsApiError && error.code);
console.log(JSON.stringify({ data, remaining: quota.remaining > 0, entities, pages, csv: csv.split("\\r\\n")[0], code }));`,
  );
  const { data } = (
    await service.call("/api/v1/summary", {
      token,
      params: { start_month: "2025-03", end_month: "2026-02" },
    })
  ).json();
  const result = JSON.parse(output) as Record<string, unknown>;
  assert.deepEqual(result["data"], data);
  assert.ok(Number(result["entities"]) > 10 && Number(result["pages"]) > 0 && result["remaining"]);
  assert.equal(result["csv"], "section,cohort_month,key,label,metric,value,unit");
  assert.equal(result["code"], "invalid_request");
});

test("One query runs without a checkout, by npx and the address of the service", async () => {
  const empty = makeFolder();
  const env = { ...process.env, RETURNS_TOKEN: token, RETURNS_URL: service.address };
  // npx only passes arguments on; the installed command is quicker to run.
  const installed = (...words: string[]) => run("node", [COMMAND, ...words], { env });
  const months = ["--start-month", "2025-03", "--end-month", "2026-02"];
  const query = ["--yes", ...npm, address, "summary", ...months];
  const { stdout } = await run("npx", query, { cwd: empty, env });
  const params = { start_month: "2025-03", end_month: "2026-02" };
  const { data, meta } = (await service.call("/api/v1/summary", { token, params })).json();
  assert.deepEqual(JSON.parse(stdout), { data, meta });
  assert.match((await installed("export-report", ...months)).stdout, /^section,cohort_month,key,label/u);
  for (const [words, code, sentence] of [
    [["summary", "--month", "2026-01"], 2, /Unknown option '--month'/u],
    [["nothing"], 2, /^Usage: returns-query <endpoint>[^]*return-rate-leaderboard/u],
    [["summary", ...months, "--sku", "NONE"], 1, /\(invalid_request\)\n$/u],
  ] as const) {
    const refused = (error: { code: number; stderr: string }) =>
      error.code === code && sentence.test(error.stderr);
    await assert.rejects(installed(...words), refused, words.join(" "));
  }
});

test("The command reads its token from nowhere else, and prints neither the token nor control characters", async () => {
  const asked: string[] = [];
  const elsewhere = createServer((request, response) => {
    asked.push(String(request.url));
    const { authorization = "" } = request.headers;
    if (request.url?.startsWith("/api/v1/report") === true)
      return response.writeHead(307, { location: "/elsewhere" }).end();
    const error = { code: "invalid_request", message: `\u001b[31m${authorization}\u009b` };
    return response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
  });
  elsewhere.listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  const { port } = elsewhere.address() as AddressInfo;
  const env = { ...process.env, RETURNS_TOKEN: token, RETURNS_URL: `http://127.0.0.1:${port}` };
  const command = (...words: string[]) => run("node", [COMMAND, ...words], { env });
  try {
    const stderr = "[31mBearer [token] (invalid_request)\n";
    await assert.rejects(command("summary"), (error: { stderr: string }) => error.stderr === stderr);
    await assert.rejects(command("report"), /unexpected redirect/u);
    assert.ok(!asked.includes("/elsewhere"));
    assert.match((await command("summary", "--help")).stdout, /^Usage: returns-query <endpoint>/u);
  } finally {
    elsewhere.close();
  }
});

/** Checks programs of the folder, with more options of the compiler. */
async function compile(...words: string[]): Promise<void> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const checked = run(process.execPath, [tsc, "--ignoreConfig", "--noEmit", "--strict", ...words], {
    cwd: folder,
  });
  await checked.catch(({ stdout }: { stdout: string }) => assert.fail(stdout));
}

const ES2022 = ["--module", "nodenext", "--target", "es2022"];
const STRICTEST = ["--exactOptionalPropertyTypes", "--skipLibCheck", "false"];
const OF_NODE = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];

/** The examples of docs/client.md as programs: all but the first go on from it, and need its client. */
function examplePrograms(): string[] {
  const found = [...readFileSync(join(root, "docs/client.md"), "utf8").matchAll(/```js\n(.*?)```/gsu)];
  const examples = found.map(([, code = ""]) => code);
  assert.ok(examples.length >= 5);
  const start = examples[0]?.split("\nconst { data")[0] ?? "";
  return examples.map((code, index) => (index === 0 ? code : `${start}\n${code}`));
}

test("Every example of docs/client.md runs", async () => {
  for (const [index, wholeProgram] of examplePrograms().entries()) {
    const output = await runProgram(
      `example-${index}.js`,
      wholeProgram.replaceAll("https://returns.example", service.address).replaceAll('"lamp"', '"jacket"'),
    );
    assert.doesNotMatch(output, /undefined/u);
  }
  const exported = readdirSync(folder).filter((name) => name.endsWith(".csv"));
  assert.deepEqual(exported, ["returns-report_workspace_2025-01_2026-06.csv"]);
});

const CONSUMER = `import { createClient, ReturnsApiError } from "returns-analytics-client";
import type { Alert, ClientOptions, FileExport, Entity, ErrorCode, Quota, SummaryParameters } from "returns-analytics-client";

const options: ClientOptions = { baseUrl: "https://returns.example", token: async () => "secret" };
const client = createClient(options);
const parameters: SummaryParameters = { start_month: "2026-01", end_month: "2026-02", window: "90d", sku: undefined };

export async function read(signal: AbortSignal): Promise<{ rate: number; entities: Entity[]; file: FileExport }> {
  const { data, meta, quota } = await client.summary(parameters, { signal });
  const left: Quota | null = quota;
  const months: string = meta.start_month + (meta.selector.type === "sku" ? meta.selector.primarySku : "");
  const { data: entities } = await client.entities();
  const series = await client.timeseries({ ...entities[0]!.selector, ...parameters });
  const complete: boolean | undefined = series.data.rows[0]!.is_complete;
  for await (const alert of client.iterateAlerts({ limit: 10 })) void (alert satisfies Alert);
  const report = await client.report({ ...parameters, reportSection: "trend" });
  void [left, months, complete, report.data.trend?.[0]?.returns_cost.toFixed(2)];
  return { rate: data.return_rate, entities, file: await client.exportReport(parameters) };
}
export const codeOf = (error: unknown): ErrorCode | null => (error instanceof ReturnsApiError ? error.code : null);

// @ts-expect-error the months are required
void client.summary({});
// @ts-expect-error there is no such window
void client.summary({ ...parameters, window: "60d" });
// @ts-expect-error there is no such parameter
void client.alerts({ severity: "info" });
// @ts-expect-error a rate is a number
void client.summary(parameters).then(({ data }) => data.return_rate.toUpperCase());
`;

test("A TypeScript program is checked against the package, with a browser's types", async () => {
  writeFileSync(join(folder, "consumer.ts"), CONSUMER);
  await compile(
    ...ES2022,
    ...STRICTEST,
    "--lib",
    "es2022,dom,dom.asynciterable",
    "--types",
    "",
    "consumer.ts",
  );
});

test("the same with those of Node.js, and so is every example of docs/client.md", async () => {
  const names = examplePrograms().map((source, index) => {
    // A token from the environment may be missing; a program decides what then.
    const checked = source.replace("process.env.RETURNS_TOKEN", 'process.env["RETURNS_TOKEN"] ?? ""');
    writeFileSync(join(folder, `typed-${index}.ts`), checked);
    return `typed-${index}.ts`;
  });
  writeFileSync(join(folder, "consumer.ts"), CONSUMER);
  await compile(...ES2022, ...STRICTEST, "--lib", "es2022", ...OF_NODE, "consumer.ts", ...names);
});

/** The compiler is the test: a difference from the contract's types would need a member that cannot be written. */
const ALIKE = `import type { EndpointMethods } from "returns-analytics-client";
import type { EndpointMethods as OfContract } from "${root}/src/client/endpoints.ts";
type Package = typeof import("returns-analytics-client");
type Code = typeof import("${root}/src/client/client.ts");
type Errors = typeof import("${root}/src/client/errors.ts");
type Name = keyof EndpointMethods & keyof OfContract;
type Unlike<Left, Right> = [Left, Right] extends [Right, Left] ? false : true;
type Answer<Of> = Of extends (...given: never[]) => infer Result ? Awaited<Result> : never;
export const missing: [keyof OfContract, keyof EndpointMethods] extends [keyof EndpointMethods, keyof OfContract] ? true : false = true;
export const parameters: {
  [N in Name as Unlike<Parameters<EndpointMethods[N]>[0], Parameters<OfContract[N]>[0]> extends true ? N : never]: never;
} = {};
export const functions: [Unlike<Package["createClient"], Code["createClient"]>, Unlike<Package["iteratePages"], Code["iteratePages"]>] = [false, false];
export const errors: [
  Unlike<InstanceType<Package["ReturnsApiError"]>, InstanceType<Errors["ReturnsApiError"]>>,
  Unlike<ConstructorParameters<Package["ReturnsApiError"]>, ConstructorParameters<Errors["ReturnsApiError"]>>,
  Unlike<InstanceType<Package["ReturnsNetworkError"]>, InstanceType<Errors["ReturnsNetworkError"]>>,
  Unlike<ConstructorParameters<Package["ReturnsNetworkError"]>, ConstructorParameters<Errors["ReturnsNetworkError"]>>,
] = [false, false, false, false];
export const values: [keyof Package, keyof Code | keyof Errors] extends [keyof Code | keyof Errors, keyof Package] ? true : false = true;
export const answers: { [N in Name as Unlike<Answer<EndpointMethods[N]>, Answer<OfContract[N]>> extends true ? N : never]: never } = {};
`;

test("The package's written types are those of the contract", async () => {
  writeFileSync(join(folder, "alike.ts"), ALIKE);
  const strictest = ["--exactOptionalPropertyTypes", "--skipLibCheck"];
  const sources = ["--module", "nodenext", "--target", "esnext", "--allowImportingTsExtensions"];
  await compile(...strictest, ...sources, "--types", "", "alike.ts");
});

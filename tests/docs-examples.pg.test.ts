import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import papaparse from "papaparse";
import { startConsoleDemo } from "./support/console-demo.ts";
import { before, use } from "./support/use.ts";
import { makeFolder } from "./support/folder.ts";

/** A code block of a guide that can be run: a request for a shell, or a program. */
type Example = { guide: string; language: "sh" | "js"; status: string; text: string };

type Leaderboard = { data: { rows: { sku: string }[] }; meta: { start_month: string } };
type Reasons = { data: { return_reasons: { reason: string; returned_units: number }[] } };

const folder = join(import.meta.dirname, "..", "docs", "guides");

/** On another day than that of the OpenAPI examples, and not on the first of a month: the guides hold on any day. */
const demo = use(startConsoleDemo);
let examples: Example[];
const workFolder = makeFolder();
/** What the first guide has its reader keep: the month of its leaderboard. */
let month: string;

before(async () => {
  examples = await readExamples();
  month = (await ask<Leaderboard>("/leaderboards/return-rate?period=month&limit=3")).meta.start_month;
});

test("each request of the guides is answered as its guide says", async () => {
  const requests = examples.filter(({ text }) => text.startsWith("curl "));
  assert.ok(requests.length >= 8, `${requests.length} requests`);
  for (const { guide, status, text } of requests) {
    const command = text.replace(/^curl /u, "curl -w '%{stderr}%{http_code}' ");
    const { code, stderr } = await run("bash", ["-euc", command]);
    assert.equal(code, 0, `${guide}: ${text}\n${stderr}`);
    assert.equal(stderr, status, `${guide}: ${text}`);
  }
  const csv = await readFile(join(workFolder, "returns.csv"), "utf8");
  assert.match(csv, /^section,cohort_month,key,label,metric,value,unit\r\n/u);
});

test("the first guide is true: the lamp ranks first in its month, and most of its returns are defective", async () => {
  assert.equal(month, "2026-09");
  const { data } = await ask<Leaderboard>("/leaderboards/return-rate?period=month&limit=3");
  assert.equal(data.rows[0]?.sku, "LMP53-BRASS");
  const reasons = await ask<Reasons>(
    `/report?sku=LMP53-BRASS&start_month=${month}&end_month=${month}&reportSection=reasons`,
  );
  const units = reasons.data.return_reasons.map((row) => row.returned_units);
  assert.equal(reasons.data.return_reasons[0]?.reason, "defective");
  assert.ok((units[0] ?? 0) > units.reduce((sum, count) => sum + count, 0) / 2, units.join(" "));
});

test("guides about the demo store name no month and no figure of it", async () => {
  for (const name of ["getting-started.md", "alerts.md"]) {
    const markdown = await readFile(join(folder, name), "utf8");
    assert.doesNotMatch(markdown, /(?:_month=|\()\d{4}-\d{2}|\d\.\d{3,}/u, name);
    assert.doesNotMatch(markdown, /\b(?:January|February|March|April|May|June|July|August)\b/u, name);
  }
});

test("each program of the guides runs", async () => {
  const programs = examples.filter(({ language }) => language === "js");
  assert.ok(programs.length >= 2, `${programs.length} programs`);
  for (const { guide, text } of programs) {
    const { code, stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", text]);
    assert.equal(code, 0, `${guide}: ${stderr}`);
    assert.notEqual(stdout.trim(), "", `${guide} says nothing`);
  }
});

test("the columns that the export guide calls a key are unique", async () => {
  const response = await fetch(
    `${demo.service.address}/api/v1/export/report.csv?start_month=2025-11&end_month=2026-01&saleEvent=black-friday-2025`,
    { headers: { authorization: `Bearer ${demo.demo.token.token}` } },
  );
  const { data } = papaparse.parse<string[]>((await response.text()).trim(), { delimiter: "," });
  const keys = data
    .slice(1)
    .map(([section, cohortMonth, key, , metric]) => [section, cohortMonth, key, metric].join(" "));
  assert.ok(keys.length > 100);
  assert.equal(new Set(keys).size, keys.length);
});

async function ask<Body>(path: string): Promise<Body> {
  const headers = { authorization: `Bearer ${demo.demo.token.token}` };
  const response = await fetch(`${demo.service.address}/api/v1${path}`, { headers });
  return (await response.json()) as Body;
}

async function readExamples(): Promise<Example[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((markdown, index) =>
    [...markdown.matchAll(/^```(sh|js)(?: (\d{3}))?\n(.*?)^```$/gmsu)].map(
      ([, language, status = "200", text = ""]) => ({
        guide: names[index] ?? "",
        language: language as Example["language"],
        status,
        text: text.replaceAll("http://127.0.0.1:8080", demo.service.address),
      }),
    ),
  );
}

async function run(
  command: string,
  commandArguments: string[],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(command, commandArguments, {
    cwd: workFolder,
    env: { ...process.env, TOKEN: demo.demo.token.token, MONTH: month },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { code, stdout, stderr };
}

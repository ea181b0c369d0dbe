import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startDemoService } from "./docs-demo.ts";
import type { DemoService } from "./docs-demo.ts";

/** A code block of a guide that can be run: a request for a shell, or a program. */
type Example = { guide: string; language: "sh" | "js"; status: string; text: string };

const folder = join(import.meta.dirname, "..", "docs", "guides");

let demo: DemoService;
let examples: Example[];
let workFolder: string;

before(async () => {
  demo = await startDemoService();
  examples = await readExamples();
  workFolder = await mkdtemp(join(tmpdir(), "returns-docs-run-"));
});
after(async () => {
  await demo.stop();
  await rm(workFolder, { recursive: true, force: true });
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

test("each program of the guides runs", async () => {
  const programs = examples.filter(({ language }) => language === "js");
  assert.ok(programs.length >= 2, `${programs.length} programs`);
  for (const { guide, text } of programs) {
    const { code, stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", text]);
    assert.equal(code, 0, `${guide}: ${stderr}`);
    assert.notEqual(stdout.trim(), "", `${guide} says nothing`);
  }
});

test("the columns that the export guide calls a key are one", async () => {
  const response = await fetch(
    `${demo.service.address}/api/v1/export/report.csv?start_month=2025-11&end_month=2026-05&saleEvent=black-friday-2025`,
    { headers: { authorization: `Bearer ${demo.tenant.token}` } },
  );
  const rows = (await response.text()).trim().split("\r\n").slice(1);
  const keys = rows.map((row) => {
    const [section, cohortMonth, key, , metric] = row.split(",");
    return [section, cohortMonth, key, metric].join(" ");
  });
  assert.ok(keys.length > 100);
  assert.equal(new Set(keys).size, keys.length);
});

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
    env: { ...process.env, TOKEN: demo.tenant.token },
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

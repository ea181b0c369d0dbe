import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { valueAt } from "../src/console/figure.ts";
import { PAGES } from "../src/console/registry.ts";
import { runClientProgram, runPasted } from "./support/command.ts";
import { unescaped } from "./support/page-figures.ts";
import { scene } from "./support/scene.ts";
import { send } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { makeFolder } from "./support/folder.ts";

type Figure = { path: string; value: string };
/** One request of a box: its texts by form, and the page's figures that it returns. */
type Boxed = { name: string; path: string; forms: ReadonlyMap<string, string>; figures: readonly Figure[] };
type Program = (request: Boxed) => Promise<unknown>;

const MONTHS = "start_month=2025-01&end_month=2026-03";

const tenant = await scene({ store: "small" });
const member = await tenant.member();
const folder = makeFolder();

/** Each form of a request as its reader would run it, with the JSON that it gives. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  curl: async ({ forms }) => JSON.parse(await shell(forms.get("curl") ?? "")),
  query: async ({ forms }) => {
    const { stdout, stderr } = await runPasted("bash", `${forms.get("query")} --json`, tenant.token);
    assert.equal(stderr, "");
    return JSON.parse(stdout);
  },
  mcp: async ({ forms }) => {
    const call = JSON.parse(forms.get("mcp") ?? "") as { name: string; arguments: unknown };
    return JSON.parse((await tenant.tool(call.name, call.arguments)).text);
  },
  client: async ({ forms }) => {
    const client = JSON.stringify(join(import.meta.dirname, "../src/client/client.ts"));
    const file = join(folder, `${randomUUID()}.mts`);
    writeFileSync(file, (forms.get("client") ?? "").replace('"returns-analytics-client"', client));
    const [data, meta] = await runClientProgram(file, tenant.token);
    return { data, meta };
  },
};

/** What each text gives, by the text: pages share requests. */
const answers = new Map<string, Promise<unknown>>();

function answerOf(form: string, request: Boxed): Promise<unknown> {
  const text = `${form} ${request.forms.get(form)}`;
  const answer = answers.get(text) ?? (PROGRAMS[form] ?? assert.fail(form))(request);
  answers.set(text, answer);
  return answer;
}

async function shell(text: string): Promise<string> {
  const options = { env: { ...process.env, TOKEN: tenant.token } };
  return (await promisify(execFile)("bash", ["-euc", text], options)).stdout;
}

async function boxOf(path: string): Promise<Boxed[]> {
  const { status, text: page } = await member.get(path);
  assert.equal(status, 200, path);
  const figures = [...page.matchAll(/<data\b[^>]*?\bvalue="([^"]*)"[^>]*?\bdata-from="([^"]*)"/gu)].map(
    ([, value = "", from = ""]) => ({ from: unescaped(from), value: unescaped(value) }),
  );
  const sections = page.matchAll(
    /<section\s+data-request="([^"]*)"\s+data-path="([^"]*)"\s*>(.*?)<\/section>/gsu,
  );
  return [...sections].map(([, name = "", requestPath = "", body = ""]) => ({
    name,
    path: unescaped(requestPath),
    forms: new Map(
      [...body.matchAll(/<code data-form="(\w+)">(.*?)<\/code>/gsu)].map(([, form = "", text = ""]) => [
        form,
        unescaped(text),
      ]),
    ),
    figures: figures
      .filter(({ from }) => from.startsWith(`${name}/`))
      .map(({ from, value }) => ({ path: from.slice(name.length + 1), value })),
  }));
}

function exact(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

const VIEWS = [
  ...PAGES.map(({ path }) => path),
  `/report?${MONTHS}&sku=JACKET-M`,
  `/report?${MONTHS}&product_group_type=family&product_group_key=Outerwear&include_incomplete=true`,
];

for (const view of VIEWS) {
  test(`each text of the box of ${view || "the overview"} returns the figures of the page`, async () => {
    const box = await boxOf(view);
    assert.ok(box.length > 0, "the page lists its requests");
    for (const request of box) {
      const { name, forms, figures } = request;
      assert.deepEqual([...forms.keys()].toSorted(), Object.keys(PROGRAMS).toSorted(), name);
      for (const form of Object.keys(PROGRAMS)) {
        const body = await answerOf(form, request);
        for (const { path, value } of figures) {
          assert.equal(exact(valueAt({ name, body }, path)), value, `${form}: ${name}/${path}`);
        }
      }
    }
    assert.ok(box.some(({ figures }) => figures.length > 0));
  });
}

test("the address of each request of the overview is the one in its curl command", async () => {
  for (const request of await boxOf("")) {
    const headers = { authorization: `Bearer ${tenant.token}` };
    const { text } = await send(service.address + request.path, { headers });
    const curled = (await answerOf("curl", request)) as { data: unknown };
    assert.deepEqual(curled.data, (JSON.parse(text) as { data: unknown }).data);
  }
});

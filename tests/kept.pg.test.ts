import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { OPTION_HELP, readConfig } from "../src/config.ts";
import { describingFiles } from "../src/actions/workspace/export.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { listTables } from "../src/store/queries/distribute.ts";
import { wordsOf } from "./support/page-figures.ts";
import { actAs } from "./support/scene.ts";
import { runCommand } from "./support/command.ts";
import { serviceEnvironment, startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** Documents, pages, commands and exports say how long rows are kept. */

const SETTINGS = {
  KEEP_RUNS_DAYS: "20",
  KEEP_DELIVERIES_DAYS: "5",
  KEEP_AUDIT_DAYS: "100",
  KEEP_USAGE_DAYS: "60",
};

const service = use(() => startTestService(SETTINGS));

const HEADING = "| Table | Grows with | Kept | Setting |";
const lines = readFileSync(join(import.meta.dirname, "../docs/operating/configure.md"), "utf8").split("\n");
const start = lines.indexOf(HEADING) + 2;
const rows = lines.slice(
  start,
  lines.findIndex((line, index) => index > start && !line.startsWith("|")),
);
const namesIn = (text: string): string[] =>
  [...text.matchAll(/`([A-Za-z_]+)`/gu)].map(([, name = ""]) => name);

test("the document names every table once, and no other", async () => {
  const named = rows.flatMap((row) => namesIn(row.split("|")[1] ?? ""));
  assert.deepEqual(named.toSorted(), (await listTables(service.installation.database)).toSorted());
});

test("the document names every setting, and each is an option", () => {
  const settings = rows.flatMap((row) => namesIn(row.split("|")[4] ?? ""));
  const options = OPTION_HELP.map(({ name }) => name).filter((name) => name.startsWith("KEEP_"));
  assert.deepEqual([...new Set(settings)].toSorted(), options.toSorted());
});

test("the pages of usage, the audit and a source say how far back they reach", async () => {
  const owner = await actAs(service, await createTenant(service.database));
  const textOf = async (path: string): Promise<string> => wordsOf((await owner.get(path)).text);
  assert.match(await textOf("/settings/usage"), /All counts are kept for 60 days\./u);
  assert.match(await textOf("/settings/audit"), /Entries are kept for 100 days\./u);
  assert.match(
    await textOf("/settings/sources/shopify"),
    /Runs are kept for 20 days, for 5 days if a webhook requested them\./u,
  );
});

test("usage is shown for as many days as it is kept, and doctor lists all settings", async () => {
  const { shopDomain } = await createTenant(service.database);
  const environment = { ...serviceEnvironment(service.databaseUrl), ...SETTINGS };
  const run = (...words: string[]) => runCommand(words, environment);
  const refused = await run("usage", "--workspace", shopDomain, "--days", "61");
  assert.equal(refused.stderr, "The number of days must be a whole number from 1 to 60.\n");
  const usage = await run("usage", "--workspace", shopDomain, "--days", "60", "--json");
  assert.equal((JSON.parse(usage.stdout) as { kept_days: number }).kept_days, 60);
  const doctor = await run("doctor", "--json");
  assert.match(
    doctor.stdout,
    /runs for 20 days, webhook deliveries for 5 days, audit for 100 days, usage for 60 days/u,
  );
});

test("an export says how far back its audit reaches", async () => {
  const { shopDomain } = await createTenant(service.database);
  const { database } = service.installation;
  const workspace = await requireWorkspace(database, shopDomain);
  const readme = (settings: Record<string, string>): Promise<string> =>
    database.transaction(async (connection) => {
      const request = { now: new Date(), retention: readConfig(settings) };
      const [first] = describingFiles(connection, workspace, request);
      return (await Array.fromAsync(first?.content ?? [])).join("");
    });
  assert.match(await readme(SETTINGS), /audit\.json +what was done .*; kept for 100 days$/mu);
  assert.match(await readme({}), /audit\.json +what was done .*; kept forever$/mu);
});

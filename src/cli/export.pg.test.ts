import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { runCommand, startCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { createTestDatabase } from "../../tests/support/database.ts";
import { before, useDatabase } from "../../tests/support/use.ts";
import { csv, withFolder } from "../../tests/support/import-workspace.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import { makeFolder } from "../../tests/support/folder.ts";
import { eventually } from "../../tests/support/worker.ts";

const DOMAIN = "export.example";
const FILES = {
  "products.csv": csv("product_id,title,vendor", "p1,Hat,Acme"),
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,product_id,sku,units",
    "o1,l1,2025-01-05T10:00:00Z,p1,HAT,3",
  ),
};

const database = useDatabase();
let environment: Record<string, string>;
const parent = makeFolder();
before(async () => {
  environment = serviceEnvironment(database.url);
  await run(["workspace", "create", "--domain", DOMAIN, "--currency", "EUR", "--plan", "scale"]);
  await run(["workspace", "set", "--workspace", DOMAIN, "primary_window_days=45", "min_sold_units=1"]);
  await withFolder(FILES, (folder) =>
    run(["import", folder, "--workspace", DOMAIN, "--as-of", "2026-01-01T06:00:00.123Z"]),
  );
});

async function run(words: readonly string[], of = environment): Promise<CommandOutcome> {
  const outcome = await runCommand(words, of);
  assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`);
  return outcome;
}

async function modesOf(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true });
  const modes = await Promise.all(
    ["", ...names].map(async (name) => ((await stat(join(folder, name))).mode & 0o777).toString(8)),
  );
  return Object.fromEntries(["", ...names].map((name, index) => [name, modes[index] ?? ""]));
}

test("a folder that only its owner can read, whose README brings it to another installation", async () => {
  const folder = join(parent, "whole");
  const { stdout } = await run(["workspace", "export", DOMAIN, folder]);
  assert.equal(stdout, `The workspace ${DOMAIN} is exported to ${folder}.\n`);
  const modes = await modesOf(folder);
  for (const [name, mode] of Object.entries(modes)) {
    assert.equal(mode, name === "" || name === "store" ? "700" : "600", name);
  }
  const readme = await readFile(join(folder, "README.txt"), "utf8");
  const lines = readme.split("\n").filter((line) => line.startsWith("./returns "));
  assert.equal(lines.length, 3);
  const other = await createTestDatabase();
  try {
    const elsewhere = serviceEnvironment(other.url);
    for (const line of lines) {
      const words = line.split(" ").slice(1);
      await run(
        words.map((word) => word.replace("FOLDER", folder)),
        elsewhere,
      );
    }
    const again = join(parent, "again");
    await run(["workspace", "export", DOMAIN, again], elsewhere);
    for (const name of await readdir(join(folder, "store"))) {
      assert.equal(
        await readFile(join(again, "store", name), "utf8"),
        await readFile(join(folder, "store", name), "utf8"),
        name,
      );
    }
    const settingsOf = async (of: string): Promise<unknown[]> => {
      const settings = JSON.parse(await readFile(join(of, "settings.json"), "utf8")) as Record<
        string,
        unknown
      >;
      return [
        "shop_domain",
        "currency_code",
        "plan",
        "primary_window_days",
        "min_sold_units",
        "data_as_of",
      ].map((name) => settings[name]);
    };
    assert.deepEqual(await settingsOf(again), await settingsOf(folder));
  } finally {
    await other.drop();
  }
});

test("a folder that holds anything, or that cannot be made, is refused with the reason", async () => {
  const full = join(parent, "full");
  await mkdir(full);
  await writeFile(join(full, "mine.txt"), "mine");
  const onFull = await runCommand(["workspace", "export", DOMAIN, full], environment);
  assert.deepEqual(
    [onFull.code, onFull.stderr],
    [1, `${full} is not empty: name a folder that does not exist yet, or an empty one.\n`],
  );
  const nowhere = join(parent, "none", "below");
  const onNowhere = await runCommand(["workspace", "export", DOMAIN, nowhere], environment);
  assert.deepEqual(
    [onNowhere.code, onNowhere.stderr],
    [1, `${nowhere} cannot be written: the folder above it does not exist.\n`],
  );
  const empty = join(parent, "empty");
  await mkdir(empty);
  await run(["workspace", "export", DOMAIN, empty]);
  assert.deepEqual(await readdir(full), ["mine.txt"]);
});

test("SIGTERM leaves no half folder, and the next export is whole", async () => {
  const folder = join(parent, "cut");
  const partials = async (): Promise<string[]> =>
    (await readdir(parent)).filter((name) => name.startsWith(".cut.partial-"));
  const hasBegun = async (): Promise<boolean> => {
    const [name = ""] = await partials();
    const found = await stat(join(parent, name, "store", "order_lines.csv")).catch(() => null);
    return (found?.size ?? 0) > 0;
  };
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  try {
    // Its file is one of the last.
    await holder.query("begin; lock table sale_event in access exclusive mode");
    const running = startCommand(["workspace", "export", DOMAIN, folder], environment);
    while (!(await hasBegun())) {
      assert.equal(running.child.exitCode, null);
      await sleep(20);
    }
    running.child.kill("SIGTERM");
    await running.outcome;
  } finally {
    await holder.end();
  }
  assert.deepEqual([(await readdir(parent)).includes("cut"), await partials()], [false, []]);
  // A server that is still reading for the ended process, as a Citus does, says to try again.
  const exported = async (): Promise<CommandOutcome | null> => {
    const outcome = await runCommand(["workspace", "export", DOMAIN, folder], environment);
    return outcome.stderr.includes("is being exported already") ? null : outcome;
  };
  const { code, stderr } = await eventually(exported, "the next export", 30);
  assert.equal(code, 0, stderr);
  const lines = await readFile(join(folder, "store", "order_lines.csv"), "utf8");
  assert.equal(lines, await readFile(join(parent, "whole", "store", "order_lines.csv"), "utf8"));
});

test("erase asks for confirmation, keep cancels it, and show reports it", async () => {
  const asked = await runCommand(["workspace", "erase", DOMAIN], environment);
  assert.notEqual(asked.code, 0);
  await run(["workspace", "erase", DOMAIN, "--yes"]);
  const shown = JSON.parse(
    (await run(["workspace", "show", "--workspace", DOMAIN, "--json"])).stdout,
  ) as Record<string, unknown>;
  assert.match(String(shown["erase_after"]), /^\d{4}-\d\d-\d\dT/u);
  await withFolder(FILES, async (folder) => {
    const { code, stderr } = await runCommand(["import", folder, "--workspace", DOMAIN], environment);
    assert.deepEqual([code, stderr], [1, `${DOMAIN} is scheduled for erasure: cancel the erasure first.\n`]);
  });
  await run(["workspace", "keep", DOMAIN]);
  const again = await runCommand(["workspace", "keep", DOMAIN], environment);
  assert.equal(again.stderr, `No erasure of ${DOMAIN} is scheduled: there is nothing to cancel.\n`);
});

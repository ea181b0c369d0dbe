import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { before, useDatabase } from "../../tests/support/use.ts";
import { csv, withFolder, type FolderFiles } from "../../tests/support/import-workspace.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";

const DOMAIN = "import.example";
const OLD = {
  "order_lines.csv": csv("order_id,line_id,ordered_at,units", "o1,l1,2025-01-05T10:00:00Z,3"),
};

const database = useDatabase();
let environment: Record<string, string>;
before(async () => {
  environment = serviceEnvironment(database.url);
  const { code } = await run(["workspace", "create", "--domain", DOMAIN, "--currency", "EUR"]);
  assert.equal(code, 0);
});

const run = (words: readonly string[]): Promise<CommandOutcome> => runCommand(words, environment);
const importFiles = (files: FolderFiles, ...options: string[]): Promise<CommandOutcome> =>
  withFolder(files, (folder) => run(["import", folder, "--workspace", DOMAIN, ...options]));

test("old files without --as-of are imported with a warning that names the option, which ends it", async () => {
  const plain = await importFiles(OLD);
  assert.equal(plain.code, 0, plain.stderr);
  assert.match(
    plain.stderr,
    /^Warning: the newest order is from 2025-01-05, \d+ days before the as-of \S+: months without orders look complete and leaderboards rank empty months; if the files end there, import them again with --as-of 2025-01-06\.\n$/u,
  );
  const asJson = await importFiles(OLD, "--json");
  const { warnings } = JSON.parse(asJson.stdout) as { warnings: { kind: string; message: string }[] };
  assert.deepEqual(
    warnings.map(({ kind }) => kind),
    ["old_orders"],
  );
  assert.match(warnings[0]?.message ?? "", /--as-of 2025-01-06$/u);
  const followed = await importFiles(OLD, "--as-of", "2025-01-06");
  assert.deepEqual([followed.code, followed.stderr], [0, ""]);
});

test("an as-of in the future is a mistake of the command", async () => {
  const { code, stdout, stderr } = await importFiles(OLD, "--as-of", "9999-01-01T00:00:00Z");
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(
    stderr,
    /^The as-of 9999-01-01T00:00:00\.000Z is in the future: it may be at most \S+Z, which is now\.\n$/u,
  );
});

test("an import without rows says so and exits with 1", async () => {
  const header = { "order_lines.csv": "order_id,line_id,ordered_at,units\n" };
  const empty = await importFiles(header);
  assert.deepEqual(empty, {
    code: 1,
    stdout: "",
    stderr: "Nothing was imported: the files hold no rows, only headers.\n",
  });
  const asJson = await importFiles(header, "--json");
  assert.equal((JSON.parse(asJson.stdout) as { imported: boolean }).imported, false);
  const bad = { "order_lines.csv": csv("order_id,line_id,ordered_at,units", "o1,l1,never,3") };
  const skipped = await importFiles(bad, "--skip-invalid");
  assert.equal(skipped.code, 1);
  assert.match(skipped.stderr, /\nNothing was imported: 1 row cannot be used; there are no others\.\n$/u);
});

test("a file in the place of the folder is one sentence with the fix", async () => {
  await withFolder(OLD, async (folder) => {
    const { code, stderr } = await run(["import", `${folder}/order_lines.csv`, "--workspace", DOMAIN]);
    assert.equal(code, 1);
    assert.match(stderr, /^\S+order_lines\.csv: is a file, .+: give the folder that holds it\.\n$/u);
  });
});

test("deleted rows are counted, and those without a stored row are reported", async () => {
  await importFiles(OLD, "--as-of", "2025-01-06");
  const gone = csv("order_id,line_id,deleted", "o1,l1,true", "o2,l1,true");
  const { code, stdout, stderr } = await importFiles({ "order_lines.csv": gone }, "--as-of", "2025-01-06");
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^deleted_rows +2$/mu);
  assert.equal(
    stderr,
    "Warning: order_lines.csv: deleted rows name nothing that is stored, so nothing was removed (1).\n",
  );
});

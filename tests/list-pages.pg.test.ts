import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { openControlDatabase } from "./support/control.ts";
import { serviceEnvironment } from "./support/service.ts";
import { runCommand } from "./support/command.ts";
import { connectedShop } from "./support/worker.ts";
import { use } from "./support/use.ts";

const control = use(openControlDatabase);
const SHOPS = 5;

let filling: Promise<void> | undefined;
beforeEach(() => (filling ??= fill()));

async function fill(): Promise<void> {
  const shops = await Promise.all(
    Array.from({ length: SHOPS }, () =>
      connectedShop(control, [
        ["shopify", "store"],
        ["loop", "label_cost"],
      ]),
    ),
  );
  // Some are of the same moment: a page must be able to end between them.
  await control.pool.query(
    `insert into sync_run (shop_key, run_id, source, kind, requested_by, status, started_at)
     select shop, gen_random_uuid(), 'shopify', 'incremental', 'schedule', case when n = 2 then 'failed' else 'succeeded' end,
            '2026-07-01T00:00:00.123456Z'::timestamptz + (n / 2) * interval '1 minute'
       from unnest($1::bigint[]) shop cross join generate_series(1, 3) n`,
    [shops.map(({ shopKey }) => shopKey)],
  );
  await control.pool.query(
    `insert into audit_event (shop_key, happened_at, actor, action, detail)
     select shop, '2026-07-01T00:00:00.123456Z', 'operator', 'workspace.set', '{}' from unnest($1::bigint[]) shop`,
    [shops.map(({ shopKey }) => shopKey)],
  );
  await control.pool.query(
    `insert into identity_event (happened_at, actor, action, detail)
     select '2026-07-01T00:00:00.123456Z', 'operator', 'plan.set', '{}' from generate_series(1, 3)`,
  );
}

type Row = Record<string, string>;

async function rowsOf(words: string): Promise<Row[]> {
  const { stdout, stderr } = await runCommand(
    [...words.split(" "), "--json"],
    serviceEnvironment(control.url),
  );
  assert.ok(stdout !== "", stderr);
  return JSON.parse(stdout) as Row[];
}

const LISTS: readonly { words: string; cursorOf: (row: Row) => string | undefined; rows: number }[] = [
  { words: "workspace list", cursorOf: (row) => row["shop_domain"], rows: SHOPS },
  { words: "connections", cursorOf: (row) => `${row["workspace"]}/${row["source"]}`, rows: 2 * SHOPS },
  { words: "runs", cursorOf: (row) => row["cursor"], rows: 3 * SHOPS },
  { words: "runs --status failed", cursorOf: (row) => row["cursor"], rows: SHOPS },
  { words: "audit --action workspace.set", cursorOf: (row) => row["cursor"], rows: SHOPS },
  { words: "audit --since 2026-07-01", cursorOf: (row) => row["cursor"], rows: 2 * SHOPS + 3 },
];

/** The rows without durations, which change while something runs. */
const stable = (rows: readonly Row[]) => rows.map((row) => ({ ...row, duration_seconds: "" }));

for (const { words, cursorOf, rows } of LISTS) {
  test(`the pages of "${words}" together are the whole list, in its order`, async () => {
    const whole = await rowsOf(`${words} --limit 1000`);
    assert.equal(whole.length, rows);
    const paged: Row[] = [];
    for (let after = ""; ; after = ` --after ${cursorOf(paged.at(-1) ?? {})}`) {
      const page = await rowsOf(`${words} --limit 4${after}`);
      paged.push(...page);
      if (page.length < 4) break;
    }
    assert.deepEqual(stable(paged), stable(whole));
  });
}

test("an invalid cursor, state or limit is refused by name", async () => {
  const refusals = {
    "runs --after x": "--after must be the cursor of a run.",
    "runs --status x": "--status must be one of running, succeeded, failed, interrupted.",
    "connections --after x": "--after must be a domain and a source, such as shop.example/shopify.",
    "workspace list --limit 0": "--limit must be ",
    "audit --after x": "--after must be the cursor of an action.",
  };
  for (const [words, sentence] of Object.entries(refusals)) {
    const { code, stderr } = await runCommand(words.split(" "), serviceEnvironment(control.url));
    assert.notEqual(code, 0, words);
    assert.ok(stderr.includes(sentence), `${words}: ${stderr}`);
  }
});

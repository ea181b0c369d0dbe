import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { startImportWorkspace } from "./support/import-workspace.ts";
import { inside } from "./support/inside.ts";
import { before, use } from "./support/use.ts";
import { makeFolder } from "./support/folder.ts";

const guide = readFileSync(join(import.meta.dirname, "..", "docs", "guides", "your-data.md"), "utf8");
const blocksOf = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gmsu"))].map(([, text = ""]) => text);

const shop = use(startImportWorkspace);
const folder = makeFolder();
before(async () => {
  const [orders = "", refunds = ""] = blocksOf("json");
  const [converter = ""] = blocksOf("javascript");
  await writeFile(join(folder, "orders.json"), orders);
  await writeFile(join(folder, "refunds.json"), refunds);
  await writeFile(join(folder, "convert.mjs"), converter);
});

const convert = async (): Promise<string> => {
  const words = ["convert.mjs", "orders.json", "refunds.json", "folder"];
  return (await promisify(execFile)(process.execPath, words, { cwd: folder })).stdout;
};

test("the guide's converter makes a folder from the guide's export that gives the guide's figures", async () => {
  assert.equal(await convert(), "3 lines, 1 refunded lines, 1 refunds that name no line.\n");
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, {}, { folder: join(folder, "folder") });
  assert.deepEqual([result.imported, result.invalid], [true, []]);
  const { order_lines, refunds, deleted_rows } = result.counts;
  assert.deepEqual([order_lines, refunds, deleted_rows], [2, 1, 1]);
  const figures = await shop.rows(
    `select entity_key, sold_units, ${inside("returned_units", "lifetime")} as returned_units,
            ${inside("refund_minor", "lifetime")} as refund_minor
       from cohort
      where shop_key = $1 and (entity_kind = 'workspace' or entity_kind = 'sku' and entity_key <> '') order by entity_key`,
    [shopKey],
  );
  assert.deepEqual(figures, [
    { entity_key: "", sold_units: 4, returned_units: 1, refund_minor: 900 },
    { entity_key: "LAMP", sold_units: 3, returned_units: 1, refund_minor: 900 },
  ]);
  const titles = await shop.rows("select title from product where shop_key = $1 order by title", [shopKey]);
  assert.deepEqual(titles, [{ title: "Desk lamp" }, { title: 'Shade, "large"' }]);
});

test("an order that was canceled after its import is removed by the next folder", async () => {
  const paths = [join(folder, "orders.json"), join(folder, "folder")] as const;
  const shopKey = await shop.open();
  const original = readFileSync(paths[0], "utf8");
  await writeFile(paths[0], original.replace('"cancelled"', '"processing"'));
  await convert();
  assert.equal((await shop.import(shopKey, {}, { folder: paths[1] })).counts.orders, 2);
  await writeFile(paths[0], original);
  await convert();
  const { warnings } = await shop.import(shopKey, {}, { folder: paths[1] });
  assert.deepEqual(
    warnings.map(({ kind }) => kind),
    ["old_orders"],
  );
  const orders = await shop.rows("select order_id from order_document where shop_key = $1", [shopKey]);
  assert.deepEqual(orders, [{ order_id: "723" }]);
});

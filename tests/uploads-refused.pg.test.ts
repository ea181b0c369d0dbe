import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { ImportError } from "../src/sync/connectors/csv/problems.ts";
import { runTask } from "../src/worker/tasks.ts";
import { csv, startImportShop } from "./support/import-shop.ts";
import { service } from "./support/shared-service.ts";
import { expectOk } from "./support/upload.ts";
import { checksums, importedBy, openUploadShop, SMALL_FOLDER } from "./support/upload-shop.ts";
import type { UploadShop } from "./support/upload-shop.ts";
import { DEFAULT_RETENTION } from "./support/worker.ts";

/** What becomes of an upload whose import finds something wrong: nothing changes until a person has decided. */

const LINES = "order_id,line_id,ordered_at,units";
const GOOD = "o1,l1,2026-01-05T10:00:00Z,2";
const BAD = "o2,l1,2026-01-05T10:00:00Z,1.5";

async function pageText({ client }: UploadShop, id: string): Promise<string> {
  return (await (await client.page(id)).text()).replaceAll(/\s+/gu, " ");
}

async function refusedRows({ client }: UploadShop, id: string): Promise<Record<string, string>[]> {
  const answer = await client.refusedRows(id);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-disposition") ?? "", /filename="refused-rows\.csv"/u);
  return parse(await answer.text(), { columns: true });
}

test("refused rows are reported by file, line, column and what is allowed; nothing is imported until they are left out", async () => {
  const shop = await openUploadShop(service);
  const id = await shop.client.send({
    "order_lines.csv": csv(LINES, GOOD, BAD),
    "returns.csv": csv("return_id,order_id,line_id,status,units", "r1,o9,l1,OPEN,1"),
  });
  assert.equal(await importedBy(service, shop, id), "refused");
  const empty = await checksums(service, (await openUploadShop(service)).tenant);
  assert.deepEqual(await checksums(service, shop.tenant), empty);
  const page = await pageText(shop, id);
  assert.match(page, /<strong>Nothing was imported\.<\/strong> 2 rows cannot be used/u);
  assert.match(
    page,
    /<th scope="row">order_lines\.csv<\/th><td class="number">3<\/td><td class="text">units<\/td><td class="text">is not a whole number: &quot;1\.5&quot;<\/td><td class="text">a whole number from 0 to 10000000<\/td>/u,
  );
  const rows = await refusedRows(shop, id);
  assert.deepEqual(
    rows.map(({ file, line, column, allowed }) => [file, line, column, allowed]),
    [
      ["order_lines.csv", "3", "units", "a whole number from 0 to 10000000"],
      ["returns.csv", "2", "line_id", "a line of order_lines.csv, or of an earlier import"],
    ],
  );
  assert.match(page, /Import without these 2 rows/u);
  assert.equal((await shop.client.request(id, { skip_invalid: "yes" })).status, 303);
  assert.equal(await importedBy(service, shop, id), "imported");
  assert.match(await pageText(shop, id), /Left out: 2 rows/u);
  assert.equal((await refusedRows(shop, id)).length, 2);
  const { rows: lines } = await service.database.query("select 1 from order_line where shop_key = $1", [
    shop.tenant.shopKey,
  ]);
  assert.equal(lines.length, 1);
});

test("a corrected file replaces its own alone, and the upload is imported", async () => {
  const shop = await openUploadShop(service);
  const { client } = shop;
  const id = await client.send({ ...SMALL_FOLDER, "order_lines.csv": csv("order_id,units", "o1,2") });
  assert.equal(await importedBy(service, shop, id), "refused");
  assert.match(
    await pageText(shop, id),
    /order_lines\.csv: line 1: the required columns line_id, ordered_at are missing/u,
  );
  const corrected = Buffer.from(gzipSync(String(SMALL_FOLDER["order_lines.csv"])));
  await expectOk(client.replace(id, "order_lines.csv.gz", corrected.length));
  assert.match(await (await client.request(id)).text(), /order_lines\.csv\.gz is not whole: 1 of its parts/u);
  await expectOk(client.part(id, "order_lines.csv.gz", 0, corrected));
  assert.equal((await client.request(id)).status, 303);
  assert.equal(await importedBy(service, shop, id), "imported");

  const atOnce = await openUploadShop(service);
  const whole = await atOnce.client.send(SMALL_FOLDER);
  assert.equal(await importedBy(service, atOnce, whole), "imported");
  assert.deepEqual(await checksums(service, shop.tenant), await checksums(service, atOnce.tenant));
});

test("of very many refused rows the page shows 200, and the file has all", async () => {
  const shop = await openUploadShop(service);
  const id = await shop.client.send({ "order_lines.csv": csv(LINES, ...Array<string>(1500).fill(BAD)) });
  assert.equal(await importedBy(service, shop, id), "refused");
  const page = await pageText(shop, id);
  assert.match(page, /The first 200 of 1,500 rows that cannot be used/u);
  assert.match(page, /Download all of them as CSV/u);
  assert.equal((await refusedRows(shop, id)).length, 1500);
});

test("hostile text of a refused row stays text", async () => {
  const shop = await openUploadShop(service);
  const text = '"<script>alert(1)</script><img src=x onerror=y>"';
  const id = await shop.client.send({ "order_lines.csv": csv(LINES, `o1,l1,2026-01-05T10:00:00Z,${text}`) });
  assert.equal(await importedBy(service, shop, id), "refused");
  const page = await pageText(shop, id);
  assert.match(page, /&lt;script&gt;alert\(1\)/u);
  assert.doesNotMatch(page, /<script>alert|<img src=x/u);
});

test("upkeep ends what has expired, removes its parts, and forgets it after 30 days", async () => {
  const shop = await openUploadShop(service);
  const { shopKey } = shop.tenant;
  const id = await shop.client.send({ "order_lines.csv": csv(LINES, BAD) });
  assert.equal(await importedBy(service, shop, id), "refused");
  const { database } = service.installation;
  const now = Date.now();
  const DAY_MS = 86_400_000;
  const look = async (atMs: number) => {
    const environment = { database, now: () => new Date(atMs), log: console, retention: DEFAULT_RETENTION };
    await runTask(environment, "upkeep");
    const { rows } = await service.database.query<{ status: string; parts: number }>(
      `select u.status, (select count(*)::integer from import_part p where p.shop_key = $1 and p.upload_id = u.upload_id) as parts
         from import_upload u where u.shop_key = $1`,
      [shopKey],
    );
    return rows;
  };
  assert.deepEqual(await look(now), [{ status: "refused", parts: 2 }]);
  assert.deepEqual(await look(now + DAY_MS + 60_000), [{ status: "expired", parts: 0 }]);
  assert.deepEqual(await look(now + 32 * DAY_MS), []);
});

test("a packed file that unpacks to more than is allowed ends the import before it fills anything", async () => {
  const shop = await startImportShop();
  try {
    const shopKey = await shop.open();
    const packed = gzipSync(csv(LINES, ...Array<string>(100_000).fill(GOOD)));
    assert.ok(packed.length < 100_000);
    await assert.rejects(
      shop.import(shopKey, { "order_lines.csv.gz": packed }, { mostTextBytes: 1_000_000 }),
      (error) =>
        error instanceof ImportError &&
        error.message ===
          "order_lines.csv.gz: unpacked, the files hold more than 1,000,000 bytes of text together",
    );
    assert.deepEqual((await shop.dump(shopKey))["order_line"], []);
  } finally {
    await shop.stop();
  }
});

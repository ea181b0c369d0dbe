import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { csv, startImportWorkspace, withFolder } from "../../../../tests/support/import-workspace.ts";
import type { FolderFiles } from "../../../../tests/support/import-workspace.ts";
import { ImportError } from "./problems.ts";
import { before, use } from "../../../../tests/support/use.ts";

const LINES = "order_id,line_id,ordered_at,sku,title,units";
const ROW = "o1,l1,2026-01-05T10:00:00Z,A,Hat,2";
const GOOD = csv(LINES, ROW);
const MANY = csv(
  LINES,
  ...Array.from({ length: 20_000 }, (_, index) => `o${index},l1,2026-01-05T10:00:00Z,A,Crème hat ${index},2`),
);

/** Its first columns, and those that say what was refunded. */
const SHOPIFY_EXPORT = csv(
  "Name,Email,Financial Status,Paid at,Fulfillment Status,Currency,Subtotal,Total,Lineitem quantity,Lineitem name,Refunded Amount",
  '"#1001",,partially_refunded,2026-01-05 10:00:00 +0100,fulfilled,EUR,40.00,40.00,2,Hat,20.00',
);

const shop = use(startImportWorkspace);

const UNREADABLE: Record<string, [files: FolderFiles, message: RegExp]> = {
  "a folder without any file of the format": [
    { "orders_export.csv": GOOD },
    /: nothing to import, as the folder contains none of products\.csv, .*sale_events\.csv \(/,
  ],
  "an order export of Shopify's admin beside no file of the format": [
    { "notes.csv": "a,b\n", "orders_export_1.csv": SHOPIFY_EXPORT },
    /^orders_export_1\.csv: is an order export of Shopify's admin, .*: connect the store instead/,
  ],
  "an order export of Shopify's admin under a name of the format": [
    { "order_lines.csv": SHOPIFY_EXPORT },
    /^order_lines\.csv: is an order export of Shopify's admin, .*: connect the store instead/,
  ],
  "an empty folder": [{}, /: nothing to import, as the folder contains none of .*order_lines\.csv/],
  "a spreadsheet of a known name beside CSV files": [
    { "order_lines.csv": GOOD, "returns.xlsx": "PK\u0003\u0004" },
    /^returns\.xlsx: is a spreadsheet, not CSV: replace it with .+ named returns\.csv$/,
  ],
  "a tab-separated file of a known name": [
    { "order_lines.tsv": GOOD.replaceAll(",", "\t") },
    /^order_lines\.tsv: is a tab-separated file, .* CSV with commas, named order_lines\.csv$/,
  ],
  "a spreadsheet that is called .csv": [
    { "order_lines.csv": Buffer.from("PK\u0003\u0004\u0014\u0000\u0006\u0000") },
    /^order_lines\.csv: is a spreadsheet .*not CSV: save the sheet as CSV UTF-8/,
  ],
  "semicolons between the cells": [
    { "order_lines.csv": GOOD.replaceAll(",", ";") },
    /^order_lines\.csv: line 1: the cells are separated by semicolons: export .* with commas/,
  ],
  "semicolons between quoted cells": [
    { "order_lines.csv": `\ufeff${GOOD.replaceAll(/[^,\n]+/gu, '"$&"').replaceAll(",", ";")}` },
    /^order_lines\.csv: line 1: the cells are separated by semicolons/,
  ],
  "semicolons after Excel's own first line": [
    { "order_lines.csv": `sep=;\r\n${GOOD.replaceAll(",", ";")}` },
    /^order_lines\.csv: line 1: the cells are separated by semicolons/,
  ],
  "tabs between the cells": [
    { "order_lines.csv.gz": gzipSync(GOOD.replaceAll(",", "\t")) },
    /^order_lines\.csv\.gz: line 1: the cells are separated by tabs/,
  ],
  "the same file plain and compressed": [
    { "order_lines.csv": GOOD, "order_lines.csv.gz": gzipSync(GOOD) },
    /^order_lines\.csv and order_lines\.csv\.gz/,
  ],
  "a file without even a header": [{ "order_lines.csv": "" }, /^order_lines\.csv: the file is empty/],
  "a missing required column": [
    { "order_lines.csv": csv("order_id,ordered_at,units", "o1,2026-01-05T10:00:00Z,1") },
    /^order_lines\.csv: line 1: the required column line_id is missing; the header has "order_id", "ordered_at", "units"$/,
  ],
  "a repeated column": [
    { "order_lines.csv": csv(`${LINES},units`, `${ROW},2`) },
    /^order_lines\.csv: line 1: the column units is twice/,
  ],
  "a repeated column with a name of 100 KB": [
    { "order_lines.csv": csv(`${LINES},${"x".repeat(100_000)},${"x".repeat(100_000)}`) },
    /^order_lines\.csv: line 1: the column x{40} is twice in the header$/,
  ],
  "Latin-1 instead of UTF-8": [
    {
      "order_lines.csv": Buffer.from(csv(LINES, ROW, ROW, "o2,l1,2026-01-05T10:00:00Z,A,Crème,2"), "latin1"),
    },
    /^order_lines\.csv: line 4: wrong encoding/,
  ],
  "Latin-1 far down in a large file": [
    {
      "order_lines.csv": Buffer.concat([
        Buffer.from(MANY),
        Buffer.from("o,l,2026,A,Cr\u00e8me,2\n", "latin1"),
      ]),
    },
    /^order_lines\.csv: line 20002: wrong encoding/,
  ],
  "UTF-16": [
    { "order_lines.csv": Buffer.from(`\ufeff${GOOD}`, "utf16le") },
    /^order_lines\.csv: line 1: wrong encoding/,
  ],
  "a character cut off at the end": [
    { "order_lines.csv": Buffer.concat([Buffer.from(GOOD), Buffer.from([0xc3])]) },
    /^order_lines\.csv: line 3: wrong encoding/,
  ],
  "a truncated gzip": [
    { "order_lines.csv.gz": gzipSync(MANY).subarray(0, 50_000) },
    /^order_lines\.csv\.gz: the gzip is damaged or cut off/,
  ],
  "a gzip file that is not gzip": [
    { "order_lines.csv.gz": GOOD },
    /^order_lines\.csv\.gz: the gzip is damaged or cut off/,
  ],
  "a quote that is never closed": [
    { "order_lines.csv": csv(LINES, ROW, 'o2,l1,2026-01-05T10:00:00Z,A,"Hat,2') },
    /^order_lines\.csv: line 3: not CSV, a quote is opened and never closed/,
  ],
  "units of a month beyond what is counted": [
    {
      "order_lines.csv": csv(
        LINES,
        ...Array.from({ length: 215 }, (_, index) => `o1,l${index},2026-01-05T10:00:00Z,A,Hat,10000000`),
      ),
    },
    /^the units of a month add up to more than 2,147,483,647: correct the rows of order_lines/,
  ],
};

/** A workspace that has data, and what it has. */
let filled: number;
let previous: Record<string, unknown[]>;
before(async () => {
  filled = await shop.open();
  await shop.import(filled, { "order_lines.csv": GOOD });
  previous = await shop.dump(filled);
});

for (const [title, [files, message]] of Object.entries(UNREADABLE)) {
  test(`${title} is one clear error that names the file, and the previous data stays`, async () => {
    await assert.rejects(shop.import(filled, files, { skipInvalid: true }), (error) => {
      assert.ok(error instanceof ImportError);
      assert.match(error.message, message);
      return true;
    });
    assert.deepEqual(await shop.dump(filled), previous);
  });
}

test("a packed file that unpacks to more than is allowed ends the import before it fills anything", async () => {
  const packed = gzipSync(csv(LINES, ...Array<string>(100_000).fill(ROW)));
  assert.ok(packed.length < 100_000);
  const files = { "order_lines.csv.gz": packed };
  await assert.rejects(
    shop.import(filled, files, { mostTextBytes: 1_000_000 }),
    new ImportError("order_lines.csv.gz: uncompressed, the files contain more than 1,000,000 bytes of text"),
  );
  assert.deepEqual(await shop.dump(filled), previous);
});

test("a folder that is not there is one clear error", async () => {
  const shopKey = await shop.open();
  await assert.rejects(
    shop.import(shopKey, {}, { folder: "/no/such/folder" }),
    (error) => error instanceof ImportError && error.message.includes("/no/such/folder"),
  );
});

test("a file instead of the folder, and a folder instead of a file, are refused with instructions", async () => {
  const shopKey = await shop.open();
  const refused = (folder: string, message: RegExp): Promise<void> =>
    assert.rejects(shop.import(shopKey, {}, { folder }), (error) => {
      assert.ok(error instanceof ImportError);
      assert.match(error.message, message);
      return true;
    });
  await withFolder({ "order_lines.csv": GOOD, "export.xlsx": "PK" }, async (folder) => {
    await refused(
      join(folder, "order_lines.csv"),
      /order_lines\.csv: is a file, but a folder .*: give the folder that holds it$/u,
    );
    await refused(
      join(folder, "export.xlsx"),
      /export\.xlsx: is a spreadsheet, but a folder .*saved as CSV UTF-8, under one of the names products\.csv/u,
    );
  });
  await withFolder({}, async (folder) => {
    await mkdir(join(folder, "order_lines.csv"));
    await refused(folder, /^order_lines\.csv: is a folder, but a file is expected: replace it/u);
  });
  await withFolder({}, async (folder) => {
    const file = join(folder, "order_lines.csv");
    execFileSync("mkfifo", [join(folder, "notes.csv")]);
    await refused(folder, /: nothing to import/u);
    await symlink("notes.csv", file);
    await refused(folder, /^order_lines\.csv: is a pipe or a device, but a file is expected: replace it/u);
    await symlink("returns.csv", join(folder, "returns.csv"));
    await rm(file);
    await refused(folder, /^returns\.csv: the file cannot be read \(ELOOP/u);
  });
});

test("a file that is written while it is read is refused, since a part of it may be missing", async () => {
  const shopKey = await shop.open();
  await withFolder({ "order_lines.csv": GOOD }, async (folder) => {
    const onProgress = (): void => appendFileSync(join(folder, "order_lines.csv"), `${ROW}\n`);
    await assert.rejects(
      shop.import(shopKey, {}, { folder, onProgress }),
      (error) =>
        error instanceof ImportError &&
        /^order_lines\.csv: has changed while it was read: import it once it is complete$/u.test(
          error.message,
        ),
    );
  });
});

test("plain, compressed, with byte order mark and with CRLF: the same rows", async () => {
  const expected = await dumpOf({ "order_lines.csv": GOOD });
  assert.equal(expected["order_line"]?.length, 1);
  const withMark = `\ufeff${GOOD}`;
  assert.deepEqual(await dumpOf({ "order_lines.csv.gz": gzipSync(GOOD) }), expected);
  assert.deepEqual(await dumpOf({ "order_lines.csv": withMark }), expected);
  assert.deepEqual(await dumpOf({ "order_lines.csv": GOOD.replaceAll("\n", "\r\n") }), expected);
  assert.deepEqual(await dumpOf({ "order_lines.csv": GOOD.trimEnd() }), expected);
});

test("quoted commas, quotes and line breaks are read, and control characters are stripped from text", async () => {
  const cell = '"Hat, ""large""\r\nblue\u0000\u0007\u0085\\N\\."';
  const { sku, entity } = await dumpOf({
    "order_lines.csv": csv(LINES, `o1,l1,2026-01-05T10:00:00Z,A\tB,${cell},2`),
  });
  assert.deepEqual(
    sku?.map((row) => [(row as { sku: string }).sku, (row as { product_title: string }).product_title]),
    [["AB", 'Hat, "large"blue\\N\\.']],
  );
  assert.deepEqual(
    entity?.map((row) => (row as { label: string }).label),
    ["AB"],
  );
});

test("unknown columns are reported and ignored, and so are extra files", async () => {
  const shopKey = await shop.open();
  const files = { "order_lines.csv": csv(`${LINES},colour`, `${ROW},red`), "customers.csv": "not read" };
  const result = await shop.import(shopKey, files, { asOf: new Date("2026-01-06T00:00:00Z") });
  assert.equal(result.imported, true);
  assert.deepEqual(result.warnings, [
    {
      kind: "unknown_column",
      file: "order_lines.csv",
      message: 'the unknown column "colour" is ignored',
      count: 1,
    },
  ]);
});

async function dumpOf(files: FolderFiles): Promise<Record<string, unknown[]>> {
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, files);
  assert.deepEqual(result.invalid, []);
  return shop.dump(shopKey);
}

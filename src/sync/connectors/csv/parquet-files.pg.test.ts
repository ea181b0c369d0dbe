import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { makeFolder } from "../../../../tests/support/folder.ts";
import { csv, startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import { use } from "../../../../tests/support/use.ts";
import { readParquet, reasonOf } from "./parquet-process.ts";
import { CELL_END, type ParquetTop } from "./parquet-values.ts";
import { ImportError } from "./problems.ts";

const shop = use(startImportWorkspace);
const folder = makeFolder();
const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
await duckdb.run("set timezone = 'Asia/Tokyo'");
after(() => duckdb.closeSync());

let files = 0;
/** What DuckDB writes of a query. */
async function parquet(query: string, options = ""): Promise<Buffer> {
  const path = join(folder, `${(files += 1)}.parquet`);
  await duckdb.run(`copy (${query}) to '${path}' (format parquet${options})`);
  return readFile(path);
}

/** Reads the columns of order lines in this process: the cells of each row by column. */
function cellsOf(bytes: Buffer): { rows: Record<string, string>[]; localTimes: string[] } {
  const path = join(folder, "order_lines.parquet");
  writeFileSync(path, bytes);
  const columns = [
    "order_id",
    "line_id",
    "ordered_at",
    "sku",
    "title",
    "units",
    "unit_price",
    "unit_discount",
  ];
  const text = Array.from(readParquet(path, Infinity, columns)).join("");
  const [top = "", ...cells] = text.split(CELL_END).slice(0, -1);
  const { names, width, localTimes } = JSON.parse(top) as ParquetTop;
  const rows = Array.from({ length: cells.length / width }, (_, row) =>
    Object.fromEntries(
      names.slice(0, width).map((name, column) => [name, cells[row * width + column] ?? ""]),
    ),
  );
  return { rows, localTimes };
}

/** More than DuckDB puts into one row group. */
const ROWS = 2100;
/** As a warehouse types them: numbers for ids, zoned times, exact amounts. */
const LINES = `
  select 4500000000000 + i // 2 as order_id, i as line_id, timestamptz '2026-01-05 10:00:00.123456Z' + interval (i) minute as ordered_at,
         case when i % 7 > 0 then 'SKU ' || i % 40 end as sku, 'Crème ' || i as title, (i % 3 + 1)::integer as units,
         (i % 900)::decimal(12, 2) + 0.05 as unit_price, 0.05::decimal(18, 4) as unit_discount, i % 50 = 0 as test,
         null::varchar as vendor, 'x' as colour
    from range(${ROWS}) t(i)`;
const REFUNDS = `
  select 'f' || i as refund_id, 4500000000000 + i // 2 as order_id, i as line_id, timestamptz '2026-02-05 10:00:00Z' as refunded_at,
         1::utinyint as units, (i % 900)::double / 4 as subtotal, 'RETURN' as restock_type
    from range(0, ${ROWS}, 5) t(i)`;
const EVENTS = `select 's' as slug, 'Sale' as label, date '2026-01-01' as starts_on, date '2026-01-09' as ends_on, 'A;B' as skus`;

test("Parquet is the same rows as CSV, whatever its compression, pages and row groups", async () => {
  const texts = Object.fromEntries(
    await Promise.all(
      Object.entries({ order_lines: LINES, refunds: REFUNDS, sale_events: EVENTS }).map(
        async ([name, query]) => {
          const path = join(folder, `${name}.csv`);
          await duckdb.run(`set timezone = 'UTC'`);
          await duckdb.run(
            `copy (${query}) to '${path}' (format csv, timestampformat '%Y-%m-%dT%H:%M:%S.%gZ')`,
          );
          return [`${name}.csv`, await readFile(path)] as const;
        },
      ),
    ),
  );
  const expected = await shop.open();
  const counts = await shop.import(expected, texts);
  assert.deepEqual(counts.invalid, []);
  assert.equal(counts.counts.order_lines, ROWS);
  const shopKey = await shop.open();
  const written = {
    "order_lines.parquet": await parquet(LINES, ", compression zstd, row_group_size 2048"),
    "refunds.parquet": await parquet(REFUNDS),
    "sale_events.parquet": await parquet(EVENTS),
  };
  const result = await shop.import(shopKey, written);
  assert.deepEqual([result.invalid, result.counts], [[], counts.counts]);
  assert.deepEqual(
    result.warnings.map(({ kind, file }) => [kind, file?.replace(/\..*/u, "")]),
    counts.warnings.map(({ kind, file }) => [kind, file?.replace(/\..*/u, "")]),
  );
  assert.deepEqual(await shop.dump(shopKey), await shop.dump(expected));
  assert.equal((await shop.import(shopKey, texts)).counts.changed_orders, 0);
});

test("Parquet is the same cells whatever its compression, pages and row groups", async () => {
  const cells = cellsOf(await parquet(LINES)).rows;
  assert.equal(cells.length, ROWS);
  for (const options of [
    ", compression zstd, row_group_size 2048",
    ", compression gzip, parquet_version v2",
    ", compression brotli, parquet_version v2, row_group_size 2048",
    ", compression uncompressed",
  ])
    assert.deepEqual(cellsOf(await parquet(LINES, options)).rows, cells, options);
});

const ONE = (columns: string): string =>
  `select * replace (${columns}) from (select 'o1' as order_id, 'l1' as line_id, timestamptz '2026-01-05 10:00:00Z' as ordered_at, 2 as units, 20.00 as unit_price)`;

test("M9: every type that holds a cell exactly is its text", async () => {
  const expected = { order_id: "o1", line_id: "l1", ordered_at: "2026-01-05T10:00:00.000Z", units: "2" };
  for (const [columns, price, isLocalTime = false] of [
    ["12.35::decimal(4, 2) as unit_price", "12.35"],
    ["12.350000000::decimal(38, 9) as unit_price", "12.350000000"],
    ["12.35::decimal(9, 2) as unit_price, 2::double as units", "12.35"],
    ["12.35::double as unit_price, 2::ubigint as units", "12.35"],
    ["'12.35' as unit_price, '2' as units", "12.35"],
    ["12.3450000001::double as unit_price", "12.3450000001"],
    ["12.35 as unit_price, timestamp '2026-01-05 10:00:00' as ordered_at", "12.35", true],
    ["12.35 as unit_price, timestamp_ms '2026-01-05 10:00:00' as ordered_at", "12.35", true],
    ["12.35 as unit_price, timestamp_ns '2026-01-05 10:00:00' as ordered_at", "12.35", true],
    ["12.35 as unit_price, '2026-01-05 10:00:00+00' as ordered_at", "12.35"],
    ["12.35 as unit_price, 'o1'::blob as order_id", "12.35"],
  ] as const) {
    const { rows, localTimes } = cellsOf(await parquet(ONE(columns)));
    const [{ ordered_at: at = "", ...cells } = {}] = rows;
    assert.deepEqual(
      { ...cells, ordered_at: new Date(at).toISOString() },
      { ...expected, unit_price: price },
      columns,
    );
    assert.deepEqual(localTimes, isLocalTime ? ["ordered_at"] : [], columns);
  }
});

test("M20: a time without a zone and an amount that is rounded are reported", async () => {
  const shopKey = await shop.open();
  const columns = "12.345::decimal(18, 3) as unit_price, timestamp '2026-01-05 10:00:00' as ordered_at";
  const written = { "order_lines.parquet": await parquet(ONE(columns)) };
  const { warnings } = await shop.import(shopKey, written, { asOf: new Date("2026-01-06T00:00:00Z") });
  assert.deepEqual(warnings.map(({ kind }) => kind).toSorted(), ["local_time", "rounded_amount"]);
});

test("a row that cannot be used is named by file, row group, row and column", async () => {
  const query = `select 'o' || i as order_id, 'l' as line_id, timestamptz '2026-01-05 10:00:00Z' as ordered_at,
                        case when i = 4999 then -1 else 1 end as units from range(5000) t(i)`;
  const shopKey = await shop.open();
  const orders = await parquet(query, ", row_group_size 2048");
  const refund = `select 'f1' as refund_id, 'nobody' as order_id, 'l' as line_id, now() as refunded_at, 1 as units, 1.00 as subtotal`;
  const written = { "order_lines.parquet": orders, "refunds.parquet": await parquet(refund) };
  const { imported, invalid } = await shop.import(shopKey, written);
  assert.equal(imported, false);
  assert.deepEqual(
    invalid.map(({ file, row_group: group, line, column }) => [file, group, line, column]),
    [
      ["order_lines.parquet", 3, 5000, "units"],
      ["refunds.parquet", 1, 1, "line_id"],
    ],
  );
  assert.deepEqual((await shop.dump(shopKey))["order_line"], []);
});

test("blanks around the name of a column do not count, and unknown columns are listed up to a limit", async () => {
  const shopKey = await shop.open();
  const columns = Array.from({ length: 50 }, (_, index) => `1 as x${index}`).join(", ");
  const query = `select order_id, line_id, ordered_at, units, unit_price as " unit_price ", ${columns} from (${ONE("2 as units")})`;
  const { warnings } = await shop.import(shopKey, { "order_lines.parquet": await parquet(query) });
  const unknown = warnings.filter(({ kind }) => kind === "unknown_column");
  assert.deepEqual([unknown.length, unknown.at(-1)?.count], [21, 30]);
  const [line] = (await shop.dump(shopKey))["order_line"] as { sold_minor: number }[];
  assert.equal(line?.sold_minor, 4000);
});

const GOOD = await parquet(ONE("2 as units"));
const LONG = await parquet(LINES, ", row_group_size 2048, compression uncompressed");
/** A footer of these bytes. */
const withFooter = (footer: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([Buffer.from("PAR1"), footer, length, Buffer.from("PAR1")]);
};

/** A value in Thrift's compact protocol, which Parquet's footer and page headers are written in: its type and its bytes. */
type Thrift = { type: number; bytes: Buffer };
const unsigned = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) + 128, ...unsigned(Math.floor(value / 128))];
const whole = (value: number, type = 5): Thrift => ({
  type,
  bytes: Buffer.from(unsigned(value < 0 ? -value * 2 - 1 : value * 2)),
});
const words = (text: string): Thrift => ({
  type: 8,
  bytes: Buffer.from([...unsigned(text.length), ...Buffer.from(text)]),
});
const list = (type: number, items: readonly Thrift[]): Thrift => ({
  type: 9,
  bytes: Buffer.concat([
    Buffer.from([0xf0 + type, ...unsigned(items.length)]),
    ...items.map(({ bytes }) => bytes),
  ]),
});
/** By field number; a field that is undefined is left out. */
const struct = (fields: Readonly<Record<number, Thrift | undefined>>): Thrift => {
  let last = 0;
  const parts = Object.entries(fields).flatMap(([id, field]) => {
    if (field === undefined) return [];
    const head = Buffer.from([(Number(id) - last) * 16 + field.type]);
    last = Number(id);
    return [head, field.bytes];
  });
  return { type: 12, bytes: Buffer.concat([...parts, Buffer.from([0])]) };
};

type Hostile = {
  name?: string | null;
  type?: number;
  chunkType?: number;
  typeLength?: number;
  isUuid?: boolean;
  header: Record<number, Thrift | undefined>;
  page?: Buffer;
  rows?: number;
  statedRows?: number;
  codec?: number;
  /** How often its page follows itself. */
  pages?: number;
  /** Bytes that nothing refers to. */
  unused?: number;
};
const [GZIP, ZSTD] = [2, 6];
const ONE_TEXT = Buffer.from([1, 0, 0, 0, 65]);
const FIRST_VERSION = { 5: struct({ 1: whole(1), 2: whole(0) }) };
/** A file of one column with one page, of gzip unless stated otherwise, whose header, schema and footer say what they like. */
function hostile({ name = "order_id", page = gzipSync(ONE_TEXT), header, ...of }: Hostile): Buffer {
  const { type = 6, rows = 1, codec = GZIP, unused = 0 } = of;
  const one = Buffer.concat([struct({ 1: whole(0), 3: whole(page.length), ...header }).bytes, page]);
  const pages = Buffer.alloc(one.length * (of.pages ?? 1), one);
  const column = {
    1: whole(type),
    2: of.typeLength === undefined ? undefined : whole(of.typeLength),
    3: whole(0),
    4: name === null ? undefined : words(name),
    10: of.isUuid === true ? struct({ 14: struct({}) }) : undefined,
  };
  const others = ["line_id", "ordered_at", "units"];
  const chunk = (path: string, chunkType = 6): Thrift =>
    struct({
      3: struct({
        1: whole(chunkType),
        2: list(5, []),
        3: list(8, [words(path)]),
        4: whole(codec),
        5: whole(rows, 6),
        6: whole(1, 6),
        7: whole(pages.length, 6),
        9: whole(4, 6),
      }),
    });
  const chunks = [chunk(name ?? "", of.chunkType ?? type), ...others.map((other) => chunk(other))];
  const group = struct({ 1: list(12, chunks), 2: whole(1, 6), 3: whole(rows, 6) });
  const schema = [
    struct({ 4: words("schema"), 5: whole(4) }),
    struct(column),
    ...others.map((other) => struct({ 1: whole(6), 3: whole(0), 4: words(other) })),
  ];
  const footer = struct({
    1: whole(1),
    2: list(12, schema),
    3: whole(of.statedRows ?? rows, 6),
    4: list(12, [group]),
  }).bytes;
  const end = withFooter(footer);
  return Buffer.concat([end.subarray(0, 4), pages, Buffer.alloc(unused), end.subarray(4)]);
}

const MIB = 1024 * 1024;
/** Of DELTA_BINARY_PACKED, whose blocks say that they begin before they end. */
const BACKWARDS = gzipSync(Buffer.from([128, 1, 255, 255, 255, 255, 15, 5, 2, 0, 0, 0, 0]));
/** The same with a first value that does not end. */
const ENDLESS = Buffer.concat([Buffer.from([128, 1, 4, 5]), Buffer.alloc(MIB, 0xff)]);
/** An empty text as often as a page may have values. */
const EMPTY_TEXTS = Buffer.alloc(4 * MIB);

type Unreadable = [bytes: Buffer | Promise<Buffer>, message: RegExp];
/** What the process that reads refuses; `UNIMPORTED` has some of its refusals as imports report them. */
const UNREADABLE: Record<string, Unreadable> = {
  "a list in a column": [
    parquet(ONE("['l1'] as line_id")),
    /^order_lines\.parquet: the column line_id is a list, map or struct: write one value a row/u,
  ],
  "a struct in a column": [
    parquet(ONE("{'a': {'b': [1]}} as line_id")),
    /the column line_id is a list, map or struct/u,
  ],
  FLOAT: [parquet(ONE("1.5::float as unit_price")), /unit_price is FLOAT.*DECIMAL or DOUBLE$/u],
  "a time of day": [parquet(ONE("time '10:00:00' as ordered_at")), /ordered_at is of the type TIME/u],
  "an id beyond a double": [
    parquet(ONE("1e17::double as order_id")),
    /order_id holds 100000000000000000, which DOUBLE/u,
  ],
  "bytes that are no text": [
    parquet(ONE("'\\xFF'::blob as order_id")),
    /row group 1: the column order_id holds text that is not UTF-8$/u,
  ],
  CSV: [
    Buffer.from(csv("order_id,line_id,ordered_at,units", "o,l,2026-01-05T10:00:00Z,1")),
    /is not a Parquet file by its content; a CSV file must be named \.csv$/u,
  ],
  nothing: [Buffer.alloc(0), /is not a Parquet file/u],
  "a file without its beginning": [
    Buffer.concat([GOOD.subarray(0, 4), LONG.subarray(-9000)]),
    /is damaged or cut off/u,
  ],
  "an encrypted file": [Buffer.from("PARExxxxxxxxPARE"), /is encrypted/u],
  LZ4: [
    parquet(LINES, ", compression lz4_raw"),
    /row group 1: the column \w+ is compressed with LZ4_RAW: use snappy, zstd, gzip, brotli or none$/u,
  ],
  "a footer of nested structs": [withFooter(Buffer.alloc(1_000_000, 0x1c)), /is damaged or cut off/u],
  "a footer of a long list": [
    withFooter(Buffer.from([0x29, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x07])),
    /is damaged or cut off/u,
  ],
  "a footer of an endless number": [
    withFooter(Buffer.concat([Buffer.from([0x36]), Buffer.alloc(MIB, 0xff)])),
    /is damaged or cut off \(a number is too long\)$/u,
  ],
  "a page of an endless number": [
    hostile({
      type: 2,
      rows: 5,
      header: { 2: whole(ENDLESS.length), 5: struct({ 1: whole(5), 2: whole(5) }) },
      page: gzipSync(ENDLESS),
    }),
    /the column order_id is damaged or cut off \(a number is too long\)$/u,
  ],
  "a page of blocks that go backwards": [
    hostile({
      type: 1,
      rows: 1000,
      header: { 2: whole(13), 5: struct({ 1: whole(1000), 2: whole(5) }) },
      page: BACKWARDS,
    }),
    /the column order_id is damaged or cut off \(a block has no values\)$/u,
  ],
  "a text that is longer than its page": [
    hostile({
      // Of DELTA_LENGTH_BYTE_ARRAY: one text of 100 letters, of which there is one.
      header: { 2: whole(7), 5: struct({ 1: whole(1), 2: whole(6) }) },
      page: gzipSync(Buffer.from([128, 1, 4, 1, 200, 1, 65])),
    }),
    /the column order_id is damaged or cut off \(a text is longer than its page\)$/u,
  ],
  "a page with more values than rows": [
    hostile({ header: { 2: whole(5), 5: struct({ 1: whole(2), 2: whole(0) }) } }),
    /the column order_id is damaged or cut off \(it has more values than rows\)$/u,
  ],
  "a few bytes that are read again and again": [
    hostile({
      header: { 1: whole(2), 2: whole(EMPTY_TEXTS.length), 7: struct({ 1: whole(MIB), 2: whole(0) }) },
      page: gzipSync(EMPTY_TEXTS),
      pages: 3,
    }),
    /the column order_id unpacks to more than [\d,]+ bytes, too many for a file of its size$/u,
  ],
  "a long page that states to be short": [
    hostile({
      header: {
        2: whole(5),
        8: struct({
          1: whole(1),
          2: whole(0),
          3: whole(1),
          4: whole(0),
          5: whole(0),
          6: whole(0),
          7: { type: 2, bytes: Buffer.alloc(0) },
        }),
      },
      page: Buffer.concat([ONE_TEXT, Buffer.alloc(65 * MIB)]),
    }),
    /the column units has more than 1,048,576 values, or pages of 256 MiB at once/u,
  ],
  "a page that does not state its size": [
    hostile({ header: FIRST_VERSION, page: gzipSync(Buffer.alloc(100_000)) }),
    /the column order_id is damaged or cut off \(a page states an invalid size\)$/u,
  ],
  "a page whose size is text": [
    hostile({ header: { 2: words("xx"), ...FIRST_VERSION } }),
    /a page states an invalid size/u,
  ],
  "a page with levels of a negative length": [
    hostile({
      header: {
        2: whole(5),
        8: struct({ 1: whole(1), 2: whole(0), 3: whole(1), 4: whole(0), 5: whole(-9), 6: whole(-9) }),
      },
    }),
    /a page states an invalid size/u,
  ],
  "a UUID of 16 kB": [
    hostile({ type: 7, typeLength: 16_384, isUuid: true, header: { 2: whole(5), ...FIRST_VERSION } }),
    /the column order_id is of the type UUID: write it as text$/u,
  ],
  "a column whose pages are of another type": [
    hostile({ chunkType: 7, typeLength: 16_384, header: { 2: whole(5), ...FIRST_VERSION } }),
    /the column order_id is damaged or cut off \(its type or its number of values\)$/u,
  ],
  "a footer with nothing in it": [
    withFooter(Buffer.alloc(0)),
    /^order_lines\.parquet: is damaged or cut off$/u,
  ],
  "a column without a name": [
    hostile({ name: null, header: { 2: whole(5), ...FIRST_VERSION } }),
    /is damaged or cut off/u,
  ],
  "a file that states more rows than it has": [
    hostile({ statedRows: 2, header: { 2: whole(5), ...FIRST_VERSION } }),
    /the rows of its row groups do not add up to the stated number/u,
  ],
  "fewer than no rows": [
    hostile({ rows: -1, header: { 2: whole(5), ...FIRST_VERSION } }),
    /is damaged or cut off/u,
  ],
  "a name of two million letters": [
    hostile({ name: "x".repeat(2_000_000), header: { 2: whole(5), ...FIRST_VERSION } }),
    /has too many columns or row groups$/u,
  ],
};

const UNIMPORTED: Record<string, Unreadable> = {
  "another schema": [
    parquet("select 1 as id, 'x' as name"),
    /^order_lines\.parquet: the required columns order_id, line_id, ordered_at, units are missing; .*"id", "name"$/u,
  ],
  "Parquet that is called .csv": [
    GOOD,
    /^order_lines\.csv: is a Parquet file by its content, not CSV: name it \.parquet$/u,
  ],
  "a torn file": [LONG.subarray(0, 20_000), /is cut off or damaged: its end is missing$/u],
  "a few bytes that unpack to many": [
    hostile({
      codec: ZSTD,
      header: { 2: whole(100 * MIB), ...FIRST_VERSION },
      page: zstdCompressSync(Buffer.alloc(100 * MIB)),
    }),
    /the column order_id unpacks to more than [\d,]+ bytes, too many for a file of its size$/u,
  ],
};

/** The reason why the columns of order lines cannot be read. */
function refusalOf(bytes: Buffer): string | null {
  try {
    cellsOf(bytes);
    return null;
  } catch (error) {
    return `order_lines.parquet: ${reasonOf(error)}`;
  }
}

for (const [title, [bytes, message]] of Object.entries(UNREADABLE)) {
  test(`${title} is one clear reason`, async () => {
    const refusal = refusalOf(await bytes) ?? "it was read";
    assert.match(refusal, message);
    assert.equal(refusal.split("\n").length, 1);
  });
}

for (const [title, [bytes, message]] of Object.entries(UNIMPORTED)) {
  test(`${title} is one clear error, and nothing is imported`, async () => {
    const shopKey = await shop.open();
    const name = title.endsWith(".csv") ? "order_lines.csv" : "order_lines.parquet";
    await assert.rejects(shop.import(shopKey, { [name]: await bytes }, { skipInvalid: true }), (error) => {
      assert.ok(error instanceof ImportError, String(error));
      assert.match(error.message, message);
      assert.equal(error.message.split("\n").length, 1);
      return true;
    });
    assert.deepEqual((await shop.dump(shopKey))["order_document"], []);
  });
}

test("an import that is stopped ends the process that reads", async () => {
  const shopKey = await shop.open();
  const stop = new AbortController();
  const header = { 1: whole(2), 2: whole(EMPTY_TEXTS.length), 7: struct({ 1: whole(MIB), 2: whole(0) }) };
  const slow = hostile({ header, page: gzipSync(EMPTY_TEXTS), pages: 200, unused: 10 * MIB });
  const stopped = shop.import(shopKey, { "order_lines.parquet": slow }, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("stopped")), 1500);
  const startedAt = Date.now();
  await assert.rejects(stopped, /stopped/u);
  assert.ok(Date.now() - startedAt < 30_000);
});

test("whatever byte of a file is changed, it is refused or read", () => {
  let refused = 0;
  for (let at = 4; at < GOOD.length - 8; at += 1) {
    const broken = Buffer.from(GOOD);
    broken[at] = (GOOD[at] ?? 0) ^ 0xff;
    if (refusalOf(broken) !== null) refused += 1;
  }
  assert.ok(refused > 100, `${refused} of ${GOOD.length}`);
});

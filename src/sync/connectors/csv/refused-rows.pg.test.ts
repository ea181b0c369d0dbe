import assert from "node:assert/strict";
import { test } from "node:test";
import { inside } from "../../../../tests/support/inside.ts";
import { csv, startImportWorkspace, type FolderFiles } from "../../../../tests/support/import-workspace.ts";
import { use } from "../../../../tests/support/use.ts";

const LINES = "order_id,line_id,ordered_at,units";
const RETURNS = "return_id,order_id,line_id,status,units,processed_units,closed_at";
const REFUNDS = "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type";
const GOOD_LINE = "o1,l1,2026-01-05T10:00:00Z,2";
const lines = (...rows: string[]): FolderFiles => ({ "order_lines.csv": csv(LINES, GOOD_LINE, ...rows) });
const refunds = (...rows: string[]): FolderFiles => ({ ...lines(), "refunds.csv": csv(REFUNDS, ...rows) });

const shop = use(startImportWorkspace);

/** By title, each with its column and reason: the rows of one file, no other of which is bad. */
const REFUSALS: readonly [
  file: string,
  columns: string,
  rows: Record<string, [row: string, column: string | null, reason: RegExp]>,
][] = [
  [
    "order_lines.csv",
    `${LINES},unit_price,unit_discount`,
    {
      "a price that is too large with its units": [
        "o1,l1,2026-01-05T10:00:00Z,10000000,10000000000,",
        "unit_price",
        /too large for 10000000/,
      ],
      "a reduced price that is too large with its units": [
        "o2,l1,2026-01-05T10:00:00Z,101,100000000,0.01",
        "unit_price",
        /too large for 101/,
      ],
      "a negative price that is too large with its units": [
        "o3,l1,2026-01-05T10:00:00Z,101,-100000000,",
        "unit_price",
        /too large for 101/,
      ],
      "a price of a fraction of a cent that is too large with its units": [
        "o4,l1,2026-01-05T10:00:00Z,10000000,10000000000.001,0.002",
        "unit_price",
        /too large for 10000000/,
      ],
    },
  ],
  [
    "order_lines.csv",
    LINES,
    {
      "a missing value of a required column": ["o2,,2026-01-05T10:00:00Z,1", "line_id", /empty/],
      "a value of blanks and control characters only": [
        "o3,\u0007 \u0001,2026-01-05T10:00:00Z,1",
        "line_id",
        /empty/,
      ],
      "negative units": ["o4,l1,2026-01-05T10:00:00Z,-1", "units", /negative/],
      "units that are no whole number": ["o5,l1,2026-01-05T10:00:00Z,1.5", "units", /whole number/],
      "units beyond any order": ["o6,l1,2026-01-05T10:00:00Z,99999999999", "units", /more than/],
      "a time without offset": ["o7,l1,2026-01-05T10:00:00,1", "ordered_at", /ISO 8601/],
      "a day that no calendar has": ["o8,l1,2026-02-30T10:00:00Z,1", "ordered_at", /not a valid time/],
      "more cells than the header": ["o9,l1,2026-01-05T10:00:00Z,1,extra", null, /5 cells.*4/],
      "an id beyond what an index can hold": [
        `${"x".repeat(600)},l1,2026-01-05T10:00:00Z,1`,
        "order_id",
        /longer than 512 bytes/,
      ],
    },
  ],
  [
    "returns.csv",
    RETURNS,
    {
      "an unknown return status": ["r1,o1,l1,LOST,1,,", "status", /none of REQUESTED/],
      "a closed return without closed_at": ["r2,o1,l1,CLOSED,1,,", "closed_at", /CLOSED/],
      "a return of an unknown line": ["r3,o1,l9,OPEN,1,,", "line_id", /unknown/],
    },
  ],
  [
    "refunds.csv",
    REFUNDS,
    {
      "a refund of an unknown order": ["f1,o9,l1,2026-01-06T00:00:00Z,1,5.00,RETURN", "line_id", /unknown/],
      "a refund above the line's units": [
        "f2,o1,l1,2026-01-06T00:00:00Z,3,5.00,RETURN",
        "units",
        /more than the units of the line/,
      ],
      "an unknown restock type": [
        "f3,o1,l1,2026-01-06T00:00:00Z,1,5.00,SHELF",
        "restock_type",
        /none of RETURN/,
      ],
      "a negative amount that rounds to nothing": [
        "f4,o1,l1,2026-01-06T00:00:00Z,1,-0.001,RETURN",
        "subtotal",
        /is negative/,
      ],
      "an amount in scientific notation": [
        "f5,o1,l1,2026-01-06T00:00:00Z,1,1e3,RETURN",
        "subtotal",
        /plain decimal/,
      ],
      "an amount beyond exact arithmetic": [
        "f6,o1,l1,2026-01-06T00:00:00Z,1,99999999999999999999,RETURN",
        "subtotal",
        /too large/,
      ],
      "a negative refund": ["f7,o1,l1,2026-01-06T00:00:00Z,1,-5.00,RETURN", "subtotal", /negative/],
    },
  ],
  [
    "order_lines.csv",
    `${LINES},changes`,
    Object.fromEntries(
      [
        [
          "2026-02-05T10:00:00Z +1 edit; later -1 edit",
          /not a list of times, units and causes: "later -1 edit"/,
        ],
        ["2026-02-05T10:00:00 +1 edit", /not a list of times/],
        ["2026-02-30T10:00:00Z +1 edit", /not a list/],
        ["5 +1 edit", /not a list of times/],
        [Array(1001).fill("2026-02-05T10:00:00Z +1 edit").join(";"), /more than 1000 entries/],
      ].map(([changes, reason], at) => [
        `changes ${at}`,
        [`o${at},l1,2026-01-05T10:00:00Z,2,${String(changes)}`, "changes", reason as RegExp],
      ]),
    ),
  ],
  [
    "order_lines.csv",
    `${LINES},test`,
    { "a flag that is neither true nor false": [`${GOOD_LINE},perhaps`, "test", /true nor false/] },
  ],
  [
    "variants.csv",
    "variant_id,product_id,option2_value,condition",
    {
      "an option without a name": ["v1,p1,Red,", "option2_name", /empty/],
      "an unknown condition": ["v2,p1,,worn", "condition", /none of new, used/],
    },
  ],
  ["products.csv", "product_id,title", { "a product without title": ["p1,", "title", /empty/] }],
  [
    "return_labels.csv",
    "label_id,charged_at,amount,currency",
    {
      "a label in a currency that does not exist": [
        "b1,2026-01-06T00:00:00Z,1.5,QQQ",
        "currency",
        /ISO 4217/,
      ],
    },
  ],
  [
    "sale_events.csv",
    "slug,label,starts_on,ends_on",
    { "a sale event that ends before it starts": ["s,Sale,2026-02-02,2026-02-01", "ends_on", /before/] },
  ],
];

for (const [file, columns, rows] of REFUSALS) {
  test(`bad rows of ${file} with ${columns} are reported with line, column and reason, and nothing is imported`, async () => {
    const bad = Object.entries(rows);
    const problems = await refusedRowsOf({
      ...lines(),
      [file]: csv(columns, ...bad.map(([, [row]]) => row)),
    });
    assert.equal(problems.length, bad.length);
    for (const [at, [title, [, column, reason]]] of bad.entries()) {
      const problem = problems[at];
      assert.deepEqual([problem?.file, problem?.line, problem?.column], [file, at + 2, column], title);
      assert.match(problem?.reason ?? "", reason, title);
    }
  });
}

test("an order of more rows than fit into memory is reported, and nothing is imported", async () => {
  const rows = Array.from(
    { length: 4500 },
    (_, index) => `o1,l${index},2026-01-05T10:00:00Z,1,${"x".repeat(1000)}`,
  );
  const [problem] = await refusedRowsOf({ "order_lines.csv": csv(`${LINES},title`, ...rows) });
  assert.deepEqual([problem?.line, problem?.column], [2, "order_id"]);
  assert.match(problem?.reason ?? "", /more than 4 MiB of rows/u);
});

/** The rows that an import refuses, and because of which it changes nothing. */
async function refusedRowsOf(files: FolderFiles) {
  const shopKey = await shop.open();
  const { imported, invalid, invalid_count: count } = await shop.import(shopKey, files);
  assert.deepEqual([imported, count], [false, invalid.length]);
  for (const { allowed } of invalid) assert.match(allowed ?? "", /^[a-z0-9].{2,}[^.]$/u);
  assert.deepEqual(Object.values(await shop.dump(shopKey)).flat(), []);
  const unchanged = { readiness: "installing", data_version: 0, data_as_of: null };
  assert.deepEqual(await shop.state(shopKey), unchanged);
  return invalid;
}

test("lines are counted as they stand in the file, over quoted line breaks and blank lines", async () => {
  const shopKey = await shop.open();
  const text = `${LINES},title\r\n${GOOD_LINE},"one\r\ntwo"\r\n\r\n${GOOD_LINE},x\r\no2,l1,never,1,y\r\n`;
  const { invalid } = await shop.import(shopKey, { "order_lines.csv": text });
  assert.deepEqual(
    invalid.map(({ line }) => line),
    [6],
  );
});

test("with skipInvalid the rest is imported; rows that depend on an omitted line are omitted and listed, too", async () => {
  const shopKey = await shop.open();
  const files = {
    "order_lines.csv": csv(LINES, GOOD_LINE, "o2,l1,never,1"),
    "returns.csv": csv(RETURNS, "r1,o1,l1,CLOSED,1,,2026-01-09T00:00:00Z", "r2,o2,l1,OPEN,1,,"),
    "refunds.csv": csv(REFUNDS, "f1,o2,l1,2026-01-06T00:00:00Z,1,5.00,RETURN"),
  };
  const result = await shop.import(shopKey, files, { skipInvalid: true });
  assert.equal(result.imported, true);
  assert.deepEqual(
    result.invalid.map(({ file, line, column }) => [file, line, column]),
    [
      ["order_lines.csv", 3, "ordered_at"],
      ["returns.csv", 3, "line_id"],
      ["refunds.csv", 2, "line_id"],
    ],
  );
  assert.equal(result.counts.order_lines, 1);
  assert.equal(result.counts.returns, 1);
  const [figures] = await shop.rows(
    `select sold_units, ${inside("returned_units", "lifetime")} as returned_units,
            ${inside("refund_minor", "lifetime")} as refund_minor
       from cohort where shop_key = $1 and entity_kind = 'workspace'`,
    [shopKey],
  );
  assert.deepEqual(figures, { sold_units: 2, returned_units: 1, refund_minor: 0 });
});

test("a refund is checked against the units of its line in an earlier import, unless the folder contains the line", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, lines());
  const refund = csv(REFUNDS, "f1,o1,l1,2026-01-06T00:00:00Z,3,5.00,RETURN");
  const alone = await shop.import(shopKey, { "order_lines.csv": csv(LINES), "refunds.csv": refund });
  assert.deepEqual(
    alone.invalid.map(({ column }) => column),
    ["units"],
  );
  const grown = csv(LINES, "o1,l1,2026-01-05T10:00:00Z,3");
  const together = await shop.import(shopKey, { "order_lines.csv": grown, "refunds.csv": refund });
  assert.equal(together.imported, true);
});

test("rows that cannot be used are listed by file and line, whatever found them", async () => {
  const shopKey = await shop.open();
  const files = refunds("f1,o1,l1,2026-01-06T10:00:00Z,1,oops,", "f2,o9,l9,2026-01-06T10:00:00Z,1,1,");
  const late = "f3,o1,l1,2026-01-06T10:00:00Z,1,oops,";
  const { invalid } = await shop.import(shopKey, {
    ...files,
    "refunds.csv": `${String(files["refunds.csv"])}${late}\n`,
  });
  assert.deepEqual(
    invalid.map(({ line, column }) => [line, column]),
    [
      [2, "subtotal"],
      [3, "line_id"],
      [4, "subtotal"],
    ],
  );
});

const MANY_KEYS: readonly (readonly [words: RegExp, files: FolderFiles])[] = [
  [
    /^return_labels\.csv: one import may change at most 3 labels: divide the rows between several imports$/,
    { "return_labels.csv": csv("label_id,charged_at,amount", ...four("2026-01-09T00:00:00Z,1.00")) },
  ],
  [
    /^variants\.csv: one import may change at most 3 variants: /,
    { "variants.csv": csv("variant_id,product_id", ...four("p1")) },
  ],
  [
    /^products\.csv: one import may change at most 3 products: /,
    { "products.csv": csv("product_id,title", ...four("Hat")) },
  ],
  [
    /^order_lines\.csv: one import may change at most 3 SKUs: /,
    { "order_lines.csv": csv(`sku,${LINES}`, ...four(GOOD_LINE.replace("l1", "l2"))) },
  ],
  [
    /^products\.csv and order_lines\.csv: one import may change at most 3 products: /,
    { ...lines(), "products.csv": csv("product_id,title", `${"p".repeat(450)},Hat`) },
  ],
];

/** Four rows, each with another key before the given cells. */
function four(cells: string): string[] {
  return ["a", "b", "c", "d"].map((key) => `${key},${cells.replace("l2", `l${key}`)}`);
}

for (const [words, files] of MANY_KEYS) {
  test(`an import that changes more keys than may be in memory is refused: ${words.source}`, async () => {
    const shopKey = await shop.open();
    await assert.rejects(shop.import(shopKey, files, { mostKeys: 3 }), {
      name: "ImportError",
      message: words,
    });
    const { imported } = await shop.import(shopKey, files, { mostKeys: 4 });
    assert.equal(imported, true);
    // What has not changed does not count.
    await shop.import(shopKey, files, { mostKeys: 1 });
  });
}

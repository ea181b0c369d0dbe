import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { readRecords } from "./csv-records.ts";

type Read = { cells: string[]; line: number }[];

/** The records of text that arrives in chunks. */
async function read(chunks: readonly string[]): Promise<Read> {
  const records: Read = [];
  const text = (async function* () {
    yield* chunks;
  })();
  await readRecords(
    "file.csv",
    text,
    (cells, line) => void records.push({ cells, line }),
    async () => {},
  );
  return records;
}

/** The same by a general parser; null = not CSV. */
function parsedByOther(text: string): string[][] | null {
  try {
    return parse(text, {
      relax_column_count: true,
      skip_empty_lines: true,
      record_delimiter: ["\r\n", "\n", "\r"],
    });
  } catch {
    return null;
  }
}

const anyText = fc
  .array(fc.constantFrom("a", "b ", ",", ",", '"', '""', "\n", "\r\n", "\r", "é", "x\ty"), { maxLength: 40 })
  .map((parts) => parts.join(""));

const cell = fc.constantFrom("", "a", "1.5", "x,y", 'say "so"', "two\nlines", "cr\r\nlf", "ü");
const goodText = fc
  .array(
    fc.tuple(fc.array(cell, { minLength: 2, maxLength: 4 }), fc.constantFrom("\n", "\r\n", "\r", "\n\n")),
  )
  .map((rows) => rows.map(([cells, end]) => cells.map(quoted).join(",") + end).join(""));

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

test("text reads as a general CSV parser reads it, and what that refuses is refused", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyText, goodText), async (text) => {
      const other = parsedByOther(text);
      if (other === null) await assert.rejects(read([text]), /not CSV/);
      else
        assert.deepEqual(
          (await read([text])).map(({ cells }) => cells),
          other,
        );
    }),
    { numRuns: 3000 },
  );
});

test("where the chunks of a file end changes neither records nor their lines", async () => {
  await fc.assert(
    fc.asyncProperty(goodText, fc.array(fc.nat({ max: 60 })), async (text, places) => {
      const cuts = [0, ...places.toSorted((left, right) => left - right), text.length];
      const chunks = cuts.slice(1).map((cut, index) => text.slice(cuts[index], cut));
      assert.deepEqual(await read(chunks), await read([text]));
    }),
    { numRuns: 1000 },
  );
});

test("a record has the number of its first line, whatever lines it contains or follow blank ones", async () => {
  const records = await read(['h\r\n\r\n"a\nb"\rc\n\n', "d"]);
  assert.deepEqual(records, [
    { cells: ["h"], line: 1 },
    { cells: ["a\nb"], line: 3 },
    { cells: ["c"], line: 5 },
    { cells: ["d"], line: 7 },
  ]);
});

test("a row that is too long or never ends is refused, and a long one is read, in chunks of any kind", async () => {
  const inChunks = (text: string): string[] =>
    Array.from({ length: Math.ceil(text.length / 65_536) }, (_, at) =>
      text.slice(at * 65_536, (at + 1) * 65_536),
    );
  const long = "a".repeat(1_100_000);
  const rows = "a,b\n".repeat(1_200_000);
  for (const [text, message] of [
    [`h\n${long}\n`, "line 2: not CSV, a row is longer than 1048576 characters"],
    [`h\n"${long}"\n`, "line 2: not CSV, a row is longer than 1048576 characters"],
    [`h\n${",".repeat(5_000_000)}`, "line 2: not CSV, a row is longer than 1048576 characters"],
    [`h\n\n"a"b\n${rows}`, "line 3: not CSV, text follows a closing quote"],
    [`h\na"b\n${rows}`, "line 2: not CSV, there is a quote inside an unquoted cell"],
    [`h\n"a\n`, "line 2: not CSV, a quote is opened and never closed"],
  ] as const) {
    await assert.rejects(read(inChunks(text)), { message: `file.csv: ${message}` });
  }
  const [, wide, last] = await read(inChunks(`h\n${"a,".repeat(300_000)}\n"b"`));
  assert.deepEqual([wide?.cells.length, wide?.line, last], [300_001, 2, { cells: ["b"], line: 3 }]);
});

test("rows with quotes take no longer where lines without quotes stand between them", async () => {
  const shortest = async (text: string): Promise<number> => {
    const times: number[] = [];
    for (let run = 0; run < 3; run += 1) {
      const before = process.cpuUsage();
      await read([text]);
      times.push(process.cpuUsage(before).user);
    }
    return Math.min(...times);
  };
  const [together, apart] = [
    `h\n${'"a"\n'.repeat(20_000)}${"a\n".repeat(20_000)}`,
    `h\n${'"a"\na\n'.repeat(20_000)}`,
  ];
  const [least, most] = [await shortest(together), await shortest(apart)];
  assert.ok(most < 5 * least, `${most} instead of ${least} µs`);
});

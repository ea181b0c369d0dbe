import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { csvText, guardedText } from "./csv-text.ts";

test("cells come back as they were, whatever quotes, commas and line ends they hold", () => {
  const parts = ['"', ",", "\r", "\n", "\r\n", " ", "a", "é", "\u{1f600}", ";", "'"];
  const cells = parts.flatMap((one) => parts.map((other) => one + other));
  const rows = [parts, cells.slice(0, 11), ["", "", ...cells.slice(11, 20)], ["x", ...cells.slice(-10)]];
  const text = csvText(rows);
  assert.deepEqual(parse(text, { record_delimiter: "\r\n", relax_column_count: true }), rows);
  assert.equal(csvText([["a", 1.5, null, -2, "b c"], ["d,e"]]), 'a,1.5,,-2,b c\r\n"d,e"\r\n');
});

test("text that a spreadsheet would run begins with an apostrophe", () => {
  for (const text of ["=1+1", "+1", "-1", "@a", "\ta", "\ra"]) assert.equal(guardedText(text), `'${text}`);
  for (const text of ["a=1", "1-1", " =1", ""]) assert.equal(guardedText(text), text);
});

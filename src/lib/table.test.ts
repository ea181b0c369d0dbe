import assert from "node:assert/strict";
import { test } from "node:test";
import { formatFields, formatTable } from "./table.ts";

test("a table has columns as wide as their widest cell, and numbers to the right", () => {
  const text = formatTable(
    ["name", "units"],
    [
      ["été", 5],
      ["longer name", 1200],
    ],
  );
  assert.equal(text, "name         units\nété              5\nlonger name   1200\n");
});

test("absent values are dashes, lists are comma-separated, times are UTC", () => {
  const text = formatTable(["a", "b", "c"], [[null, ["x", "y"], new Date(0)]]);
  assert.equal(text, "a  b    c\n-  x,y  1970-01-01T00:00:00.000Z\n");
});

test("a table without rows is its headings", () => {
  assert.equal(formatTable(["a", "b"], []), "a  b\n");
});

test("fields line up behind their names", () => {
  assert.equal(formatFields({ a: 1, longer: null }), "a       1\nlonger  -\n");
});

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

test("a table without rows is its headings", () => assert.equal(formatTable(["a", "b"], []), "a  b\n"));

test("fields line up behind their names", () =>
  assert.equal(formatFields({ a: 1, longer: null }), "a       1\nlonger  -\n"));

const terminal = (widthCharacters: number) => ({ widthCharacters, now: null, hasColor: false });

test("a table that is wider than the terminal wraps its widest columns, and keeps numbers whole", () => {
  const rows = [["shop.example", "The source refuses the token: connect it again.", 1200]];
  assert.equal(
    formatTable(["workspace", "last error", "units"], rows, terminal(46)),
    "workspace     last error                 units\n" +
      "shop.example  The source refuses the      1200\n" +
      "              token: connect it again.\n",
  );
  for (const width of [24, 30, 46, 80]) {
    const lines = formatTable(["workspace", "last error", "units"], rows, terminal(width)).split("\n");
    assert.ok(
      lines.every((line) => line.length <= width),
      `${width}: ${lines.join("|")}`,
    );
  }
});

test("a list or word that is longer than its column is cut behind a comma, or at the edge", () => {
  const rows = [["read:dashboard,read:reports", "x".repeat(20)]];
  assert.equal(
    formatTable(["scopes", "name"], rows, terminal(32)),
    "scopes           name\nread:dashboard,  xxxxxxxxxxxxxxx\nread:reports     xxxxx\n",
  );
});

test("where columns cannot be so narrow each row is a list of fields", () => {
  const rows = [
    ["a".repeat(10), 1, "b".repeat(10)],
    ["c", 2, "d"],
  ];
  assert.equal(
    formatTable(["first", "units", "second"], rows, terminal(12)),
    "first   aaaaaaaaaa\nunits   1\nsecond  bbbbbbbbbb\n\nfirst   c\nunits   2\nsecond  d\n",
  );
});

test("on a terminal times are relative and states have colours", () => {
  const style = { widthCharacters: 80, now: new Date("2026-07-01T12:00:00Z"), hasColor: true };
  const rows = [["failed, try 2", new Date("2026-07-01T11:30:00Z")]];
  assert.equal(
    formatTable(["state", "started"], rows, style),
    "\u001b[1mstate\u001b[0m          \u001b[1mstarted\u001b[0m\n\u001b[31mfailed, try 2\u001b[0m  30 min ago\n",
  );
  assert.equal(formatFields({ status: "ok" }, style), "status  \u001b[32mok\u001b[0m\n");
});

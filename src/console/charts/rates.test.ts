import assert from "node:assert/strict";
import { test } from "node:test";
import { renderHtml } from "../../lib/html.ts";
import { intervalFigure } from "./rates.ts";

const shown = (low: number, high: number): string =>
  renderHtml(intervalFigure({ name: "report", body: { data: { interval: { low, high } } } }, "interval"))
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");

test("an interval shares one sign, and says in words where an end is almost none or almost all", () => {
  assert.equal(shown(0.031, 0.052), "3.1–5.2 %");
  assert.equal(shown(0, 0.113513), "0.0–11.4 %");
  assert.equal(shown(0.9, 1), "90.0–100.0 %");
  assert.equal(shown(0.0004, 0.052), "< 0.1 % to 5.2 %");
  assert.equal(shown(0.9, 0.9997), "90.0 % to > 99.9 %");
});

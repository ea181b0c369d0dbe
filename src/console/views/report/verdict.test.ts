import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf } from "../../../../tests/support/chart-markup.ts";
import { renderHtml } from "../../../lib/html.ts";
import { verdict } from "./verdict.ts";

type Report = Parameters<typeof verdict>[0];
type Units = keyof typeof RATES;

/** Returned of sold units, with the rate and the ends of its 95 % interval. */
const RATES = {
  "319 of 2900": [0.11, 0.099124, 0.121908],
  "24 of 235": [0.102128, 0.069594, 0.14746],
  "60 of 235": [0.255319, 0.203815, 0.314694],
  "6 of 235": [0.025532, 0.011753, 0.054573],
  "9 of 19": [0.473684, 0.273298, 0.682922],
  "1 of 19": [0.052632, 0.009352, 0.246387],
  "3 of 25": [0.12, 0.041668, 0.299558],
  "90 of 100": [0.9, 0.825634, 0.944776],
  "0 of 0": [0, 0, 0],
} as const;

function figures(units: Units) {
  const [returned_units = 0, sold_units = 0] = units.split(" of ").map(Number);
  const [return_rate, low, high] = RATES[units];
  const return_rate_interval = sold_units === 0 ? null : { low, high };
  return { returned_units, sold_units, return_rate, return_rate_interval };
}

function words(month: Units, usual: Units | null): string | null {
  const row = { cohort_month: "2026-09-01", is_complete: true, ...figures(month) };
  const open = { cohort_month: "2026-10-01", is_complete: false, ...figures("90 of 100") };
  const trend = { name: "trend", body: { data: { trend: [row, open] } } } as unknown as Report;
  const before =
    usual && ({ name: "usual", body: { data: { summary: figures(usual) } } } as unknown as Report);
  const shown = verdict(trend, before, 20);
  return shown && textOf(renderHtml(shown));
}

test("a verdict is of the newest complete month, in its own figures", () => {
  assert.equal(
    words("24 of 235", "319 of 2900"),
    "Usual: 10.2 % of Sep 2026 came back (24 of 235 units), usually 11.0 %. The likely range of the month is 7.0–14.7 %: " +
      "chance alone can explain this difference.",
  );
  assert.match(
    words("60 of 235", "319 of 2900") ?? "",
    /^More than usual: 25\.5 % of Sep 2026 .*, usually 11\.0 %/u,
  );
  assert.match(words("6 of 235", "319 of 2900") ?? "", /^Less than usual: 2\.6 % of Sep 2026/u);
});

test("thin evidence gives no verdict", () => {
  assert.match(
    words("9 of 19", "319 of 2900") ?? "",
    /^Too few units for a verdict: 47\.4 % .* fewer than 20 units/u,
  );
  assert.match(words("24 of 235", "1 of 19") ?? "", /^Too few units for a verdict/u);
  assert.match(words("24 of 235", "0 of 0") ?? "", /^Too few units .*\), and nothing was sold before\. /u);
  // 12.0 % of 25 may be usual, and may be more than twice that.
  assert.match(
    words("3 of 25", "319 of 2900") ?? "",
    /^No verdict: 12\.0 % .* so wide that the rate could be usual or much higher/u,
  );
  assert.equal(words("24 of 235", null), null);
});

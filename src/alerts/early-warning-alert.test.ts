import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnnouncedWarning } from "../metrics/warning-episode.ts";
import { dayFromText } from "../lib/month.ts";
import { REFUND_ONLY } from "../metrics/returned-units.ts";
import { earlyWarningAlert } from "./early-warning-alert.ts";
import type { WarningDetailsRow } from "../store/queries/alerts.ts";

const WARNING: AnnouncedWarning = {
  episodeId: "product:gid://import/Product/700053:2026-09-09",
  kind: "product",
  key: "gid://import/Product/700053",
  windowDays: 14,
  lines: 36,
  returnedLines: 6,
  expectedLines: 0.3749,
  p: 0.000_701_234,
  parts: [{ kind: "sku", key: "LMP53-BRASS", excessLines: 5.676 }],
};
const DETAILS: WarningDetailsRow = {
  product_title: "Brass lamp",
  part_titles: { "gid://import/Product/700054": "Steel lamp" },
  ordered_from: "2026-08-29",
  ordered_to: "2026-09-09",
  sold_units: 40,
  returned_units: 8,
  returned_lines: 7,
  refund_minor: 40_000,
  label_minor: 2_550,
  reasons: [
    { reason: REFUND_ONLY, returned_units: 5 },
    { reason: "DEFECTIVE", returned_units: 3 },
  ],
};
const SETTINGS = {
  asOfDay: dayFromText("2026-09-09") as number,
  startedOn: "2026-09-09",
  currencyCode: "USD",
};

test("M17: the alert has the entity, since when, returned and expected numbers, reason, cost and link", () => {
  assert.deepEqual(earlyWarningAlert(WARNING, DETAILS, SETTINGS), {
    eventKey: "early_warning:product:gid://import/Product/700053:2026-09-09",
    category: "return_rate_watchlist",
    severity: "warning",
    title:
      "Brass lamp comes back more than before: 7 of 36 order lines ordered since 29 Aug 2026, 0.4 expected by 9 Sep 2026",
    body:
      "7 of 36 order lines (40 units) ordered from 29 Aug 2026 to 9 Sep 2026 have already come back, from 6 orders; at the " +
      "usual rate, 0.4 would have come back by 9 Sep 2026. Much of the excess comes from LMP53-BRASS. The reason given most often " +
      "is DEFECTIVE, for 37.5 % of the returned units. Refunds and labels so far: 425.50 USD. To see why, request the " +
      "report with product_gid=gid://import/Product/700053, start_month=2026-08, end_month=2026-09, " +
      "include_incomplete=true, reportSection=reasons.",
    metadata: {
      kind: "early_warning",
      episode_id: "product:gid://import/Product/700053:2026-09-09",
      started_on: "2026-09-09",
      state: "open",
      product_gid: "gid://import/Product/700053",
      as_of: "2026-09-09",
      ordered_from: "2026-08-29",
      ordered_to: "2026-09-09",
      sold_units: 40,
      returned_units: 8,
      sold_lines: 36,
      returned_lines: 7,
      returned_orders: 6,
      expected_lines: 0.37,
      p: 0.000_701,
      excess_cost: 398.91,
      currency_code: "USD",
      top_reason: { reason: "DEFECTIVE", share: 0.375 },
      parts: [{ sku: "LMP53-BRASS", label: "LMP53-BRASS", excess_lines: 5.68 }],
    },
  });
});

test("M17: where label credits exceed the refunds, there is no excess cost", () => {
  const { metadata } = earlyWarningAlert(WARNING, { ...DETAILS, label_minor: -40_001 }, SETTINGS);
  assert.equal(metadata["excess_cost"], 0);
});

test("M17: critical from three times the expected lines, and ten more than expected", () => {
  const severity = (returnedLines: number, expectedLines: number) =>
    earlyWarningAlert({ ...WARNING, returnedLines, expectedLines }, DETAILS, SETTINGS).severity;
  assert.equal(severity(15, 5), "critical");
  assert.equal(severity(14, 4.5), "warning");
  assert.equal(severity(29, 10), "warning");
});

test("M17: without a stated reason none is given, and groups are named as such", () => {
  const alert = earlyWarningAlert(
    { ...WARNING, kind: "family", key: "Lighting", parts: [] },
    { ...DETAILS, product_title: null, reasons: [{ reason: REFUND_ONLY, returned_units: 8 }] },
    SETTINGS,
  );
  assert.equal(alert.metadata["top_reason"], null);
  assert.match(alert.title, /^The family Lighting comes back more/u);
  assert.doesNotMatch(alert.body ?? "", /reason given most|Much of the/u);
  assert.deepEqual(
    [alert.metadata["product_group_type"], alert.metadata["product_group_key"]],
    ["family", "Lighting"],
  );
});

test("a part that is a product has its title, or its id if it has none", () => {
  const ids = ["gid://import/Product/700054", "gid://import/Product/9"] as const;
  const parts = ids.map((key) => ({ kind: "product" as const, key, excessLines: 3 }));
  const { body, metadata } = earlyWarningAlert(
    { ...WARNING, kind: "family", key: "Lamps", parts },
    DETAILS,
    SETTINGS,
  );
  assert.match(body ?? "", / Much of the excess comes from Steel lamp, gid:\/\/import\/Product\/9\. /u);
  assert.deepEqual(metadata["parts"], [
    { product_gid: ids[0], label: "Steel lamp", excess_lines: 3 },
    { product_gid: ids[1], label: ids[1], excess_lines: 3 },
  ]);
});

test("M17: one order day, one returned line an order and no label costs are worded so", () => {
  const details = { ...DETAILS, returned_lines: 6, ordered_from: "2026-09-09", label_minor: 0 };
  const { body } = earlyWarningAlert(WARNING, details, SETTINGS);
  assert.match(
    body ?? "",
    /^6 of 36 order lines \(40 units\) ordered on 9 Sep 2026 have already come back; at /u,
  );
  assert.match(body ?? "", / Refunds so far: 400\.00 USD\. /u);
});

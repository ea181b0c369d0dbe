import assert from "node:assert/strict";
import { test } from "node:test";
import { dayFromText, monthFromText } from "../lib/month.ts";
import { spikeAlert, type WatchedEntity } from "./spike-alert.ts";

const newestMonth = monthFromText("2026-05") as number;
const settings = {
  newestMonth,
  firstMonth: newestMonth - 20,
  minSoldUnits: 20,
  primaryWindowDays: 30,
  open: [],
};

/** Six months of `before`, then `newest`; each pair is returned of sold. */
function entity(
  before: readonly [number, number],
  newest: readonly [number, number],
  named: Pick<WatchedEntity, "kind" | "key" | "title"> = { kind: "sku", key: "LMP53-BRASS", title: null },
): WatchedEntity {
  const month = (monthsBefore: number, [returnedUnits, soldUnits]: readonly [number, number]) => ({
    cohortMonth: newestMonth - monthsBefore,
    soldUnits,
    returnedUnits,
  });
  return {
    ...named,
    warnedDay: null,
    episodeId: null,
    effect: 1,
    months: [...[6, 5, 4, 3, 2, 1].map((back) => month(back, before)), month(0, newest)],
  };
}

test("M16: a spike is reported once per entity and month, with its numbers", () => {
  assert.deepEqual(spikeAlert(entity([10, 100], [40, 70]), settings), {
    eventKey: "spike:sku:LMP53-BRASS:2026-05",
    category: "return_rate_watchlist",
    severity: "critical",
    title: "Return rate of LMP53-BRASS jumped to 57.1 % in May 2026",
    body: "40 of 70 units sold in May 2026 came back within 30 days. In the six months before it was 10 % of 600 units.",
    metadata: {
      kind: "month",
      sku: "LMP53-BRASS",
      cohort_month: "2026-05",
      sold_units: 70,
      returned_units: 40,
      return_rate: 0.571429,
      baseline_rate: 0.1,
      early_warning_on: null,
      episode_id: "spike:sku:LMP53-BRASS:2026-05",
      started_on: "2026-05-01",
      state: "open",
    },
  });
});

test("M17: the spike names the early warning of its month, and none of another one", () => {
  const spikeAfter = (warnedOn: string) => {
    const alert = spikeAlert({ ...entity([10, 100], [40, 70]), warnedDay: dayFromText(warnedOn) }, settings);
    return [alert?.metadata["early_warning_on"], alert?.body?.split("600 units.")[1]];
  };
  assert.deepEqual(spikeAfter("2026-05-01"), ["2026-05-01", " An early warning was given on 1 May 2026."]);
  assert.deepEqual(spikeAfter("2026-06-30")[0], "2026-06-30");
  assert.deepEqual(spikeAfter("2026-04-30"), [null, ""]);
  assert.deepEqual(spikeAfter("2026-07-01"), [null, ""]);
});

test("M17: a spike is of the open problem of its entity's early warning, also of one before its month", () => {
  const episode_id = "sku:LMP53-BRASS:2026-04-28";
  const problem = { episode_id, kind: "early_warning", title: "", cohort_month: null, selector: {} };
  const warned = {
    ...entity([10, 100], [40, 70]),
    warnedDay: dayFromText("2026-04-28"),
    episodeId: episode_id,
  };
  const episodeIn = (open: Parameters<typeof spikeAlert>[1]["open"]) => {
    const { metadata } = spikeAlert(warned, { ...settings, open }) ?? assert.fail();
    return [metadata["episode_id"], metadata["started_on"], metadata["early_warning_on"]];
  };
  assert.deepEqual(episodeIn([{ ...problem, started_on: "2026-04-28" }]), [episode_id, "2026-04-28", null]);
  assert.deepEqual(episodeIn([]), ["spike:sku:LMP53-BRASS:2026-05", "2026-05-01", null]);
});

test("M16: a rate as it was before, or too few units, gives no alert", () => {
  assert.equal(spikeAlert(entity([10, 100], [10, 100]), settings), null);
  assert.notEqual(spikeAlert(entity([10, 100], [15, 20]), settings), null);
  assert.equal(spikeAlert(entity([10, 100], [15, 19]), settings), null);
});

test("a spike is critical from twice the baseline and ten returned units on", () => {
  const severity = (before: readonly [number, number], newest: readonly [number, number]) =>
    spikeAlert(entity(before, newest), settings)?.severity;
  assert.equal(severity([100, 1000], [199, 1000]), "warning");
  assert.equal(severity([100, 1000], [200, 1000]), "critical");
  assert.equal(severity([1, 100], [9, 30]), "warning");
  assert.equal(severity([1, 100], [10, 30]), "critical");
  assert.equal(severity([0, 100], [1, 100]), "warning");
});

test("M16: a month without a row has no sales, one before the workspace's first sale is missing", () => {
  const { months, ...lamp } = entity([10, 100], [40, 70]);
  const launched = { ...lamp, months: months.slice(-2) };
  assert.equal(spikeAlert(launched, settings)?.metadata["baseline_rate"], 0.1);
  assert.notEqual(spikeAlert(launched, { ...settings, firstMonth: newestMonth - 6 }), null);
  assert.equal(spikeAlert(launched, { ...settings, firstMonth: newestMonth - 5 }), null);
});

test("M16: only the newest complete month of the workspace is judged, whenever the entity last sold", () =>
  assert.equal(spikeAlert(entity([10, 100], [40, 70]), { ...settings, newestMonth: newestMonth + 1 }), null));

test("the metadata holds the selector of what came back, the title its name", () => {
  const told = (named: Pick<WatchedEntity, "kind" | "key" | "title">) => {
    const alert = spikeAlert(entity([10, 100], [40, 70], named), settings);
    const { cohort_month, sold_units, returned_units, return_rate, baseline_rate, ...rest } =
      alert?.metadata ?? {};
    const { kind: _kind, early_warning_on: _warnedOn, episode_id, started_on, state, ...selector } = rest;
    assert.deepEqual([episode_id, started_on, state], [alert?.eventKey, "2026-05-01", "open"]);
    assert.deepEqual(
      [cohort_month, sold_units, returned_units, return_rate, baseline_rate],
      ["2026-05", 70, 40, 0.571429, 0.1],
    );
    return [alert?.eventKey, alert?.title.split(" jumped")[0], selector];
  };
  assert.deepEqual(told({ kind: "product", key: "gid://shopify/Product/7", title: "Brass lamp" }), [
    "spike:product:gid://shopify/Product/7:2026-05",
    "Return rate of Brass lamp",
    { product_gid: "gid://shopify/Product/7" },
  ]);
  assert.deepEqual(told({ kind: "family", key: "Lighting", title: null }), [
    "spike:family:Lighting:2026-05",
    "Return rate of the family Lighting",
    { product_group_type: "family", product_group_key: "Lighting" },
  ]);
  assert.deepEqual(told({ kind: "analytics_category", key: "Lighting", title: null }), [
    "spike:analytics_category:Lighting:2026-05",
    "Return rate of the category Lighting",
    { product_group_type: "analytics_category", product_group_key: "Lighting" },
  ]);
});

test("a hostile name stays on its line in the title and is exact in the metadata", () => {
  const key = `<b>&amp;'"\nCritical:\u202e ${"x".repeat(200)}`;
  const alert = spikeAlert(entity([10, 100], [40, 70], { kind: "sku", key, title: null }), settings);
  const name = `<b>&amp;'" Critical: ${"x".repeat(200)}`.slice(0, 79);
  assert.equal(alert?.title, `Return rate of ${name}… jumped to 57.1 % in May 2026`);
  assert.equal(alert?.metadata["sku"], key);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { storeHistory } from "../tools/backtest/warnings.ts";
import { loadStoreLines } from "../tools/backtest/store-lines.ts";
import { evaluateAlerts, loadEvidence } from "../src/alerts/evaluate-alerts.ts";
import type { StoreEvidence } from "../src/metrics/early-warning.ts";
import { dayFromText, dayToText } from "../src/lib/month.ts";
import { createStore } from "./support/import-store.ts";
import { service } from "./support/shared-service.ts";
import { changeWorkspace, insertRows } from "./support/tenants.ts";

const FIRST_DAY = dayFromText("2025-03-01") as number;
const BATCH_DAY = dayFromText("2026-02-10") as number;
const LAST_DAY = dayFromText("2026-04-30") as number;
/** SKU 3 is the bad one; its used twin belongs to the same product. */
const SKUS = 12;

const tenant = await createStore(service, { asOf: `${dayToText(LAST_DAY)}T00:00:00Z`, files: storeFiles() });

/** Each day two orders of each SKU; one line in ten comes back, of SKU 3 from the batch day on every second. */
function storeFiles() {
  const orders = [];
  const refunds = [];
  for (let day = FIRST_DAY; day <= LAST_DAY; day += 1) {
    for (let place = 0; place < SKUS * 2; place += 1) {
      const number = (day - FIRST_DAY) * SKUS * 2 + place;
      const sku = place % SKUS;
      const isBad = sku === 3 && day >= BATCH_DAY;
      const id = `order ${number}`;
      orders.push({
        order_id: id,
        line_id: "1",
        ordered_at: `${dayToText(day)}T10:00:00Z`,
        variant_id: `v${sku}`,
        units: 1 + (number % 2),
      });
      const lag = 3 + ((number * 7) % 25);
      if ((isBad ? number % 2 === 1 : (number * 13) % 10 === 0) && day + lag <= LAST_DAY) {
        refunds.push({
          refund_id: `refund of ${id}`,
          order_id: id,
          line_id: "1",
          refunded_at: `${dayToText(day + lag)}T10:00:00Z`,
          units: 1,
          subtotal: "20.00",
        });
      }
    }
  }
  return {
    products: Array.from({ length: SKUS }, (_, place) => ({
      product_id: String(place >> 1),
      title: `Lamp ${place >> 1}`,
      family: place < 6 ? "Lamps" : "Shades",
      analytics_category: "Home",
    })).filter((_, place) => place % 2 === 0),
    variants: Array.from({ length: SKUS }, (_, place) => ({
      variant_id: `v${place}`,
      product_id: String(place >> 1),
      sku: `LAMP-${place}`,
      condition: place === 2 ? ("used" as const) : ("new" as const),
    })),
    order_lines: orders,
    refunds,
  };
}

const evaluateAt = async (day: number) => {
  await changeWorkspace(service.database, tenant, { data_as_of: `${dayToText(day)}T00:00:00Z` });
  return evaluateAlerts({
    database: service.installation.database,
    shopKey: tenant.shopKey,
    now: new Date(),
  });
};

type Alert = { title: string; body: string; metadata: Record<string, unknown> };
async function warnings(): Promise<Alert[]> {
  const answer = await tenant.ask("/api/v1/alerts", { category: "return_rate_watchlist", limit: 100 });
  return (answer.json().data as unknown as Alert[]).toReversed();
}

test("M17: the statement finds the same as a loop over the lines, as of any day", async () => {
  const { database } = service.installation;
  const history = storeHistory(await loadStoreLines(database, tenant.shopKey));
  for (const day of [FIRST_DAY + 20, FIRST_DAY + 130, BATCH_DAY + 9, LAST_DAY]) {
    for (const horizon of [60, 100]) {
      const loaded = await loadEvidence(database, tenant.shopKey, { asOfDay: day, horizonDays: horizon });
      assert.deepEqual(
        inOrder(loaded),
        inOrder(history.evidenceAt(day, horizon)),
        `${dayToText(day)} ${horizon}`,
      );
    }
  }
});

/** Listings by name, their places by day and order; lags of the same length in one place. */
function inOrder({ listings, baseSoldDays }: StoreEvidence) {
  const pairs = (left: readonly unknown[], right: readonly unknown[]) =>
    left.map((value, place) => JSON.stringify([value, right[place]])).toSorted();
  return {
    baseSoldDays,
    listings: listings
      .map(({ base, recent, ...listing }) => ({
        ...listing,
        baseLines: base.lines,
        lags: base.lagDays
          .flatMap((lag, place) => Array.from({ length: base.returnedLines[place] as number }, () => lag))
          .toSorted((left, right) => left - right),
        lines: pairs(recent.ageDays, recent.lines),
        returned: pairs(recent.returnedAgeDays, recent.returnedOrders),
      }))
      .toSorted((left, right) => JSON.stringify(left).localeCompare(JSON.stringify(right))),
  };
}

test("M17: evaluated daily, a bad batch gives one warning within weeks, with its numbers", async () => {
  const told: string[] = [];
  for (let day = BATCH_DAY - 10; day <= BATCH_DAY + 45; day += told.length === 0 ? 1 : 5) {
    await evaluateAt(day);
    told.push(...Array.from({ length: (await warnings()).length - told.length }, () => dayToText(day)));
  }
  const early = (await warnings()).filter(({ metadata }) => metadata["kind"] === "early_warning");
  assert.equal(early.length, 1, JSON.stringify(early.map(({ title }) => title)));
  const [{ title, metadata }] = early as [Alert];
  const asOf = String(metadata["as_of"]);
  assert.equal(told[0], asOf);
  assert.ok((dayFromText(asOf) as number) - BATCH_DAY <= 25, asOf);
  assert.match(
    title,
    /^(?:LAMP-3|Lamp 1) comes back more than before: \d+ of \d+ order lines ordered since \d+ [A-Z][a-z]{2} 2026/u,
  );
  assert.equal(metadata["top_reason"], null);
  const lines = Number(metadata["returned_lines"]);
  assert.ok(lines >= 5 && lines > 2 * Number(metadata["expected_lines"]));
  const cost = 20 * lines * ((lines - Number(metadata["expected_lines"])) / lines);
  assert.ok(
    Math.abs(Number(metadata["excess_cost"]) - cost) < 0.2,
    `${String(metadata["excess_cost"])} ${cost}`,
  );
});

test("M16: the spike of the month names the early warning", async () => {
  await service.database.query(
    "insert into watchlist_entry (shop_key, entity_kind, entity_key) values ($1, 'sku', 'LAMP-3'), ($1, 'product', 'gid://import/Product/1')",
    [tenant.shopKey],
  );
  await evaluateAt(dayFromText("2026-04-01") as number);
  const spikes = (await warnings()).filter(({ metadata }) => metadata["kind"] === "month");
  assert.ok(spikes.length > 0);
  const [early] = (await warnings()).filter(({ metadata }) => metadata["kind"] === "early_warning") as [
    Alert,
  ];
  const named = spikes.filter(({ metadata }) => metadata["early_warning_on"] === early.metadata["as_of"]);
  assert.ok(named.length > 0, JSON.stringify(spikes));
  assert.match(named[0]?.body ?? "", / An early warning was given on \d+ [A-Z][a-z]{2} 2026\.$/u);
});

test("M17: alerts of one problem have one start, also that of an entity that warns again after a pause", async () => {
  const day = dayFromText("2026-04-24") as number;
  const early = async (): Promise<Alert[]> =>
    (await warnings()).filter(({ metadata }) => metadata["kind"] === "early_warning");
  const [first] = (await early()) as [Alert];
  const { episode_id, started_on: start } = first.metadata;
  const paused = dayToText(day - 46);
  assert.ok(String(start) < paused);
  await service.database.query(
    "update warning_episode set started_on = $3, latest_on = $3 where shop_key = $1 and episode_id = $2",
    [tenant.shopKey, episode_id, paused],
  );
  // Another entity of the problem went on.
  const other = { shop_key: tenant.shopKey, entity_kind: "family", entity_key: "Other lamps", episode_id };
  const state = { started_on: paused, latest_on: dayToText(day - 1), is_announced: false, has_warned: true };
  await insertRows(service.database, "warning_episode", [{ ...other, ...state }]);
  await evaluateAt(day);
  const again = (await early()).filter(({ metadata }) => metadata["as_of"] === dayToText(day));
  assert.ok(again.length > 0);
  for (const { metadata } of again)
    assert.deepEqual([metadata["episode_id"], metadata["started_on"]], [episode_id, start]);
});

test("an as-of day is evaluated once per data version", async () => {
  const lookedAt = async () => {
    const { rows } = await service.database.query<{ warned_on: string; warned_version: number }>(
      "select warned_on::text, warned_version from workspace where shop_key = $1",
      [tenant.shopKey],
    );
    return rows[0];
  };
  const day = dayFromText("2026-04-20") as number;
  await evaluateAt(day);
  const noted = await lookedAt();
  assert.equal(noted?.warned_on, "2026-04-20");
  await service.database.query("update warning_episode set latest_on = '2020-01-01' where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.deepEqual(await evaluateAt(day), { written: 0 });
  assert.deepEqual(await lookedAt(), noted);
  assert.notDeepEqual(await evaluateAt(day + 1), { written: 0 });
});

test("a problem is open until 45 days pass without a warning or spike; then one new alert ends it", async () => {
  const ask = async (
    params: Record<string, string>,
  ): Promise<(Alert & { id: string; created_at: string })[]> =>
    (await tenant.ask("/api/v1/alerts", params)).json().data as never;
  const open = await ask({ state: "open" });
  const before = await ask({});
  assert.ok(open.some(({ metadata }) => metadata["kind"] === "early_warning"));
  const problems = new Set(open.map(({ metadata }) => metadata["episode_id"]));
  assert.ok(open.length > problems.size, "a spike belongs to the problem of its early warning");
  const since = String(before[0]?.created_at);
  await evaluateAt(dayFromText("2026-08-15") as number);
  const ended = (await ask({ state: "ended", since })).filter(
    ({ id }) => !before.some((old) => old.id === id),
  );
  assert.deepEqual(new Set(ended.map(({ metadata }) => metadata["episode_id"])), problems);
  assert.equal(ended.length, problems.size);
  for (const { metadata, title } of ended) {
    const [first] = open.filter((alert) => alert.metadata["episode_id"] === metadata["episode_id"]).slice(-1);
    assert.equal(title, `Ended: ${first?.title ?? ""}`);
    assert.deepEqual(
      [
        metadata["kind"],
        metadata["started_on"],
        metadata["ended_on"],
        metadata["sku"],
        metadata["product_gid"],
      ],
      [
        "ended",
        first?.metadata["started_on"],
        "2026-08-15",
        first?.metadata["sku"],
        first?.metadata["product_gid"],
      ],
    );
  }
  const kept = await ask({});
  assert.deepEqual(kept.slice(-before.length), before, "what was written stays as it is");
  assert.deepEqual(await ask({ state: "open" }), []);
  await evaluateAt(dayFromText("2026-08-16") as number);
  assert.deepEqual(await ask({}), kept);
});

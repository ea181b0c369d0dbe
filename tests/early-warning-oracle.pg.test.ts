import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadEvidence, evaluateAlerts } from "../src/alerts/evaluate-alerts.ts";
import { dayFromText, dayToText } from "../src/lib/month.ts";
import { findEarlyWarnings } from "../src/metrics/early-warning.ts";
import { makeWarningStore } from "./oracle/warning-store.ts";
import { createAnnouncer, gammaPoissonTail, oracleWarnings } from "./oracle/warnings.ts";
import type { OracleAnnouncement, OracleWarning } from "./oracle/warnings.ts";
import { tailProbability } from "../src/metrics/negative-binomial.ts";
import { createStore } from "./support/import-store.ts";
import { service } from "./support/shared-service.ts";
import { changeWorkspace } from "./support/tenants.ts";

const LAST_DAY = dayFromText("2026-05-10") as number;
/** Days that are evaluated, up to the last one. */
const JUDGED_DAYS = 36;

test("M17: the tail is the integral of Poisson tails over the Gamma density", () => {
  for (const [count, shape, weight, exposure] of [
    [5, 5, 40, 3],
    [5, 5.2, 90.5, 0.4],
    [12, 80, 700, 30],
    [40, 400, 4000, 260],
    [3, 20, 30, 90],
    [300, 2000, 20_000, 2500],
  ] as const) {
    const exact = gammaPoissonTail(count, shape, weight, exposure);
    const found = tailProbability(count, { shape, weight }, exposure);
    assert.ok(
      Math.abs(found / exact - 1) < 1e-6,
      `${count} ${shape} ${weight} ${exposure}: ${found} ${exact}`,
    );
  }
});

// Some of these stores announce parts later, or broader entities after their parts.
const CASES = [
  [90, 3],
  [365, 4],
  [30, 15],
  [1, 30],
].map(([primaryWindowDays = 0, seed = 0]) => ({ primaryWindowDays, seed }));
describe("M17: warnings and alerts of random stores are those of a loop over their lines", () => {
  for (const { primaryWindowDays, seed } of CASES) {
    test(`primary window ${primaryWindowDays}, seed ${seed}`, () => compareStore(seed, primaryWindowDays));
  }
});

async function compareStore(seed: number, primaryWindowDays: number): Promise<void> {
  const horizon = Math.max(60, primaryWindowDays);
  const store = makeWarningStore(seed, LAST_DAY - horizon - 270, LAST_DAY);
  const asOf = `${dayToText(LAST_DAY)}T23:00:00Z`;
  const settings = { primary_window_days: primaryWindowDays };
  const tenant = await createStore(service, { ...settings, asOf, files: store.files });
  await service.database.query("delete from alert where shop_key = $1", [tenant.shopKey]);
  await service.database.query("delete from warning_episode where shop_key = $1", [tenant.shopKey]);
  const { database } = service.installation;
  const announce = createAnnouncer();
  let told = 0;
  let compared = 0;
  for (let day = LAST_DAY - JUDGED_DAYS; day <= LAST_DAY; day += 3) {
    const expected = oracleWarnings(store, day, primaryWindowDays);
    const evidence = await loadEvidence(database, tenant.shopKey, { asOfDay: day, horizonDays: horizon });
    const found = findEarlyWarnings(evidence, horizon);
    const name = `seed ${seed}, ${dayToText(day)}`;
    assert.deepEqual(found.map(idOf).toSorted(), expected.map(idOf).toSorted(), name);
    for (const warning of found) {
      const naive = expected.find((one) => idOf(one) === idOf(warning)) as OracleWarning;
      assert.equal(warning.lines, naive.lines, name);
      near(warning.expectedLines, naive.expected, 1e-9, name);
      near(warning.p, naive.p, 1e-6, name);
    }
    compared += found.length;
    await compareAlerts(tenant, day, announce(expected, day));
  }
  assert.ok(compared > 5, `seed ${seed} calls for ${compared} warnings`);
  assert.ok(told > 0, `seed ${seed} announces ${told} warnings`);

  type Announced = { title: string; metadata: Record<string, unknown> };
  async function compareAlerts(
    { shopKey }: typeof tenant,
    day: number,
    announced: readonly OracleAnnouncement[],
  ): Promise<void> {
    await changeWorkspace(service.database, tenant, { data_as_of: `${dayToText(day)}T23:00:00Z` });
    await evaluateAlerts({ database, shopKey, now: new Date() });
    const { rows } = await service.database.query<Announced>(
      `select title, metadata from alert where shop_key = $1 and metadata->>'kind' = 'early_warning'
          and metadata->>'as_of' = $2`,
      [shopKey, dayToText(day)],
    );
    const name = `seed ${seed}, ${dayToText(day)}`;
    const nameOf = ({ kind, key }: { kind: string; key: string }) => `${kind} ${key}`;
    assert.deepEqual(
      rows.map(({ metadata }) => idOfSelector(metadata)).toSorted(),
      announced.map(nameOf).toSorted(),
      name,
    );
    told += rows.length;
    for (const { metadata } of rows) {
      const id = idOfSelector(metadata);
      const naive = announced.find((one) => nameOf(one) === id) as OracleAnnouncement;
      assert.equal(metadata["episode_id"], naive.episodeId, name);
      const parts = metadata["parts"] as Record<string, unknown>[];
      assert.deepEqual(parts.map(idOfSelector), naive.parts.map(nameOf), `${name} ${id}`);
      for (const [place, part] of parts.entries()) {
        const excess = naive.parts[place]?.excess ?? NaN;
        assert.ok(Math.abs((part["excess_lines"] as number) - excess) < 0.0051, `${name} ${id} ${excess}`);
      }
      assert.equal(metadata["sold_units"], naive.soldUnits);
      assert.equal(metadata["returned_units"], naive.returnedUnits);
      assert.equal(metadata["sold_lines"], naive.lines);
      assert.equal(metadata["returned_lines"], naive.returnedLines);
      assert.equal(metadata["returned_orders"], naive.returnedOrders);
      assert.ok(Math.abs((metadata["expected_lines"] as number) - naive.expected) < 0.0051, id);
      const cost = (naive.costMinor / 100) * (1 - naive.expected / naive.returnedOrders);
      assert.ok(Math.abs((metadata["excess_cost"] as number) - cost) < 0.011, `${id} ${cost}`);
    }
  }
}

function idOf(warning: { kind: string; key: string; windowDays: number }): string {
  return `${warning.kind} ${warning.key} in ${warning.windowDays}`;
}

function idOfSelector(metadata: Record<string, unknown>): string {
  const text = (name: string): string => metadata[name] as string;
  if ("sku" in metadata) return `sku ${text("sku")}`;
  if ("product_gid" in metadata) return `product ${text("product_gid")}`;
  return `${text("product_group_type")} ${text("product_group_key")}`;
}

function near(found: number, exact: number, tolerance: number, name: string): void {
  assert.ok(Math.abs(found - exact) <= tolerance * exact, `${name}: ${found} instead of ${exact}`);
}

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { evaluateAlerts } from "../src/alerts/evaluate-alerts.ts";
import { dayFromText, dayToText } from "../src/lib/month.ts";
import { assertHolds } from "./golden/golden.ts";
import type { StoreFiles } from "./oracle/store.ts";
import { createStore } from "./support/import-store.ts";
import { startTestService } from "./support/service.ts";
import { changeWorkspace } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** A store with alerts computed by hand. */
type GoldenWarnings = Required<Pick<StoreFiles, "products" | "variants">> & {
  about: string;
  rules: string[];
  /**
   * One order line a day, both days included; the first `back` of them come back after ten days and are refunded 1.00; for the others 0.50
   * is refunded on that day.
   */
  series: ({ from: string; to: string; back: number } & Record<string, string | number>)[];
  /** What is announced as of each of these days, one after the other: metadata, by its first selector. */
  days: { as_of: string; announced: Record<string, unknown>[] }[];
};

const FOLDER = join(import.meta.dirname, "golden/warnings");
const LAG_DAYS = 10;

const service = use(startTestService);

const readGolden = (file: string) => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as GoldenWarnings;
for (const file of readdirSync(FOLDER)) {
  const golden = readGolden(file);
  test(`${golden.rules.join(", ")}: ${golden.about}`, () => checkWarnings(golden));
}

test("M17: episodes stored by an earlier version continue, and parts that it named are announced when they warn themselves", async () => {
  const golden = readGolden("bad-batch-in-a-mild-category.json");
  const days = golden.days.map((day) => ({
    ...day,
    // The stored alert of July has no id that a later one could share.
    announced: day.announced.map((alert) =>
      day.as_of > "2026-08" ? { ...alert, episode_id: `sku:BEAR:${day.as_of}` } : alert,
    ),
  }));
  await checkWarnings({ ...golden, days }, async (day) => {
    if (day === "2026-07-10")
      await service.database.query("update warning_episode set episode_id = null, has_warned = false");
  });
});

async function checkWarnings(
  { products, variants, series, days }: GoldenWarnings,
  afterDay: (day: string) => Promise<void> = async () => {},
): Promise<void> {
  const files: StoreFiles = { products, variants, ...rowsOf(series) };
  const tenant = await createStore(service, { asOf: `${days.at(-1)?.as_of ?? ""}T12:00:00Z`, files });
  for (const day of days) {
    await changeWorkspace(service.database, tenant, { data_as_of: `${day.as_of}T12:00:00Z` });
    const { database } = service.installation;
    await evaluateAlerts({ database, shopKey: tenant.shopKey, now: new Date() });
    const { rows } = await service.database.query<{ metadata: Record<string, unknown> }>(
      `select metadata from alert where shop_key = $1 and metadata->>'kind' = 'early_warning' and metadata->>'as_of' = $2
        order by event_key`,
      [tenant.shopKey, day.as_of],
    );
    assertHolds(
      rows.map(({ metadata }) => metadata),
      day.announced,
      day.as_of,
    );
    await afterDay(day.as_of);
  }
}

function rowsOf(series: GoldenWarnings["series"]): Pick<StoreFiles, "order_lines" | "refunds"> {
  const order_lines: StoreFiles["order_lines"] = [];
  const refunds: NonNullable<StoreFiles["refunds"]> = [];
  for (const { from, to, back, ...named } of series) {
    const first = dayFromText(from) as number;
    for (let day = first; day <= (dayFromText(to) as number); day += 1) {
      const line = { order_id: `order ${order_lines.length}`, line_id: "1" };
      order_lines.push({ ...line, ...named, ordered_at: `${dayToText(day)}T10:00:00Z`, units: 1 });
      const refund = {
        ...line,
        refund_id: line.order_id,
        refunded_at: `${dayToText(day + LAG_DAYS)}T10:00:00Z`,
      };
      const isBack = day - first < back;
      refunds.push({ ...refund, units: isBack ? 1 : 0, subtotal: isBack ? "1.00" : "0.50" });
    }
  }
  return { order_lines, refunds };
}

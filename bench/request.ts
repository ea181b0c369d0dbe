import type { BenchContext } from "./context.ts";
import { measureCrowd, measureHalfLoad } from "./request/latency.ts";
import { measureMcp } from "./request/mcp.ts";
import { measureMemory } from "./request/memory.ts";
import { measureThroughput } from "./request/throughput.ts";
import { loadStore } from "./stores/load-store.ts";
import type { BenchRow } from "./table.ts";

const TYPICAL_P99_LIMIT_MS = 10;
const WHALE_P99_LIMIT_MS = 25;

/** A plan with a daily quota, so that every request is counted, that no run can use up. */
const COUNTED_PLAN = "bench";
const ADD_PLAN = {
  name: "bench_add_plan",
  text: `insert into plan (plan_key, entitlements, daily_quota)
         values ($1, '{api_access,data_export,full_leaderboards}', 2000000000) on conflict do nothing`,
};
const TAKE_PLAN = { name: "bench_take_plan", text: "update workspace set plan_key = $1" };

/** What a request costs: throughput beside floors, latency at half load, tools/call, memory. */
export async function measureRequests(context: BenchContext): Promise<BenchRow[]> {
  const { database, keys } = context.installation;
  await database.rows(ADD_PLAN, [COUNTED_PLAN]);
  const typical = await loadStore(database, {
    kind: "typical",
    tokenPepper: keys.tokenPepper,
    planKey: COUNTED_PLAN,
    tell: context.tell,
  });
  const rows = [
    ...(await measureThroughput(context, typical)),
    ...(await measureMcp(context, typical)),
    await measureHalfLoad(context, typical, TYPICAL_P99_LIMIT_MS),
  ];
  const whale = await context.whale();
  await database.rows(TAKE_PLAN, [COUNTED_PLAN]);
  rows.push(
    await measureHalfLoad(context, whale, WHALE_P99_LIMIT_MS),
    ...(await measureMemory(context, whale)),
  );
  return [...rows, ...(await measureCrowd(context))];
}

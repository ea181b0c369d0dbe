import assert from "node:assert/strict";
import { test } from "node:test";
import { compileInput } from "../contract/input.ts";
import { returnRateLeaderboard as contract } from "../contract/return-rate-leaderboard.ts";
import type { Workspace } from "../store/workspace.ts";
import { makeReportStore } from "../../tests/support/random-report-store.ts";
import { AS_OF, startReportService } from "../../tests/support/report-service.ts";
import { reportWorkspace } from "../../tests/support/report-store.ts";
import { returnRateLeaderboard } from "./return-rate-leaderboard.ts";
import { use } from "../../tests/support/use.ts";

const service = use(() => startReportService(makeReportStore(7)));
const ask = (parameters: Record<string, unknown>, of?: Workspace) => service.ask(parameters, of);

test("M5: the comparison is the summary of as many complete months before", async () => {
  const { data } = await ask({ start_month: "2025-01", end_month: "2025-03" });
  const { data: earlier } = await ask({ start_month: "2024-10", end_month: "2024-12" });
  const { return_rate_change: change, ...comparison } = data.comparison ?? assert.fail();
  assert.deepEqual(comparison, {
    start_month: "2024-10",
    end_month: "2024-12",
    sold_units: earlier.summary.sold_units,
    returned_units: earlier.summary.returned_units,
    return_rate: earlier.summary.return_rate,
  });
  const exact =
    data.summary.returned_units / data.summary.sold_units -
    earlier.summary.returned_units / earlier.summary.sold_units;
  assert.ok(Math.abs((change ?? 9) - exact) <= 5.1e-7);
});

test("M5: as many complete months are compared as count in the range, whatever lies between", async () => {
  // As of 2025-06-15, in the primary window of 45 days, 2025-04 is the newest complete month.
  const range = async (parameters: Record<string, unknown>) => {
    const { data } = await ask(parameters);
    const { comparison } = data;
    return [data.summary.months_included, comparison?.start_month ?? null, comparison?.end_month ?? null];
  };
  assert.deepEqual(await range({ start_month: "2025-03", end_month: "2025-06" }), [2, "2025-01", "2025-02"]);
  const open = { start_month: "2025-06", end_month: "2025-06", include_incomplete: true };
  assert.deepEqual(await range(open), [1, "2025-04", "2025-04"]);
  assert.deepEqual(await range({ ...open, window: "lifetime" }), [1, "2025-05", "2025-05"]);
  const { data: compared } = await ask(open);
  const { data: april } = await ask({ start_month: "2025-04", end_month: "2025-04" });
  assert.equal(compared.comparison?.sold_units, april.summary.sold_units);
  assert.equal(compared.comparison?.returned_units, april.summary.returned_units);
});

test("M5: before the first sync nothing finite is complete, nor compared", async () => {
  const never = reportWorkspace(1, AS_OF, { asOfDay: null });
  const { data } = await ask(
    { start_month: "2025-01", end_month: "2025-02", include_incomplete: true },
    never,
  );
  assert.equal(data.comparison, null);
  assert.deepEqual([data.summary.months_included, data.summary.complete_through], [2, null]);
  const { data: lifetime } = await ask(
    { start_month: "2025-01", end_month: "2025-02", window: "lifetime" },
    never,
  );
  assert.equal(lifetime.comparison?.start_month, "2024-11");
});

test("M12: before the first sync the rate leaderboard ranks no month, and says so", async () => {
  const input = compileInput(contract.parameters)(new Map());
  const ranked = async (workspace: Workspace) => {
    const answer = await returnRateLeaderboard({ database: service.database, workspace, input });
    const { meta } =
      answer.kind === "json" ? (answer.body as { meta: Record<string, unknown> }) : assert.fail();
    return [meta["start_month"], meta["months_included"], meta["excluded_months"], meta["complete_through"]];
  };
  assert.deepEqual(await ranked(reportWorkspace(1, AS_OF)), ["2024-05", 12, [], "2025-04"]);
  assert.deepEqual(await ranked(reportWorkspace(1, AS_OF, { asOfDay: null })), [undefined, 0, [], null]);
});

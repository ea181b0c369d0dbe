import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Static, TObject } from "typebox";
import { generatedFiles } from "../scripts/client/generated-files.ts";
import type { EndpointMethods } from "../src/client/generated/methods.ts";
import type { Result } from "../src/client/result.ts";
import type { alerts } from "../src/contract/alerts.ts";
import type { entities } from "../src/contract/entities.ts";
import type { exportReport } from "../src/contract/export-report.ts";
import type { report } from "../src/contract/report.ts";
import type { returnCostLeaderboard } from "../src/contract/return-cost-leaderboard.ts";
import type { returnRateLeaderboard } from "../src/contract/return-rate-leaderboard.ts";
import type { summary } from "../src/contract/summary.ts";
import type { timeseries } from "../src/contract/timeseries.ts";

type Contract = {
  entities: typeof entities;
  summary: typeof summary;
  report: typeof report;
  timeseries: typeof timeseries;
  returnRateLeaderboard: typeof returnRateLeaderboard;
  returnCostLeaderboard: typeof returnCostLeaderboard;
  alerts: typeof alerts;
  exportReport: typeof exportReport;
};
type JsonName = Exclude<keyof Contract, "exportReport">;

type Alike<Left, Right> = [Left, Right] extends [Right, Left] ? true : false;
/** A caller may write `undefined` for what is left out; the contract's own type does not say so. */
type Given<Parameters> = { [Name in keyof Parameters]: Exclude<Parameters[Name], undefined> };
type ParametersOf<Name extends keyof Contract> = Given<NonNullable<Parameters<EndpointMethods[Name]>[0]>>;
type ContractParameters<Name extends keyof Contract> = Contract[Name]["parameters"] extends infer Schema
  ? Schema extends TObject
    ? Static<Schema>
    : never
  : never;
type BodyOf<Name extends JsonName> =
  Awaited<ReturnType<EndpointMethods[Name]>> extends Result<infer Data, infer Meta>
    ? { data: Data; meta: Meta }
    : never;

// The compiler is the test: a type that strays from the contract's makes `true` no value of it.
export const PARAMETERS_ALIKE: {
  [Name in keyof Contract]: Alike<ParametersOf<Name>, ContractParameters<Name>>;
} = {
  entities: true,
  summary: true,
  report: true,
  timeseries: true,
  returnRateLeaderboard: true,
  returnCostLeaderboard: true,
  alerts: true,
  exportReport: true,
};
export const ANSWERS_ALIKE: {
  [Name in JsonName]: Alike<BodyOf<Name>, Static<Contract[Name]["response"]>>;
} = {
  entities: true,
  summary: true,
  report: true,
  timeseries: true,
  returnRateLeaderboard: true,
  returnCostLeaderboard: true,
  alerts: true,
};

test("The client's files that follow from the contract are up to date (npm run client:types)", () => {
  for (const [path, text] of generatedFiles()) {
    const file = join(import.meta.dirname, "..", path);
    assert.equal(existsSync(file) ? readFileSync(file, "utf8") : "", text, path);
  }
});

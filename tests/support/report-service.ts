import assert from "node:assert/strict";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { compileInput } from "../../src/contract/input.ts";
import type { Input } from "../../src/contract/endpoint.ts";
import { report as contract } from "../../src/contract/report.ts";
import type { ReportData } from "../../src/contract/report.ts";
import { baseMeta } from "../../src/endpoints/meta.ts";
import { report } from "../../src/endpoints/report.ts";
import type { Database } from "../../src/store/database.ts";
import type { Workspace } from "../../src/store/workspace.ts";
import { createTestDatabase, openConnections } from "./database.ts";
import { makeReportStore } from "./random-report-store.ts";
import type { OracleRequest } from "./report-oracle.ts";
import { insertReportStore, primaryWindowDays, reportWorkspace } from "./report-store.ts";
import type { ReportStore } from "./report-store.ts";

export type ReportBody = { data: Required<ReportData>; meta: Record<string, unknown> };

export type ReportService = {
  database: Database;
  /** A report of the given parameters, from 2024-03 to 2025-06 unless they say otherwise, checked against the contract. */
  ask(parameters: Record<string, unknown>, workspace?: Workspace): Promise<ReportBody>;
  stop(): Promise<void>;
};

export const AS_OF = "2025-06-15T10:00:00Z";
export const WINDOW_DAYS = { primary: primaryWindowDays, "30d": 30, "90d": 90, lifetime: null };

const DEFAULT_MONTHS = { start_month: "2024-03", end_month: "2025-06" };

/** Workspace 1 holds `store`; workspace 2 another store whose orders, lines and products have the same ids. */
export async function startReportService(store: ReportStore): Promise<ReportService> {
  const own = await createTestDatabase();
  const database = openConnections(own.url, { maxConnections: 4, statementTimeoutMs: 10_000 });
  await insertReportStore(database, 1, store);
  await insertReportStore(database, 2, makeReportStore(8));
  const validate = addFormats
    .default(new Ajv({ strict: false, allErrors: true }))
    .compile(contract.response ?? {});
  return {
    database,
    ask: async (parameters, workspace = reportWorkspace(1, AS_OF)) => {
      const input = reportInput(parameters);
      const answer = await report({ database, workspace, input });
      const { data, meta } = answer.kind === "json" ? answer.body : assert.fail();
      const body = {
        data,
        meta: { ...baseMeta(workspace, new Date("2025-06-16T00:00:00Z"), contract), ...meta },
      };
      assert.ok(validate(body), JSON.stringify(validate.errors));
      return body as ReportBody;
    },
    stop: async () => {
      await database.close();
      await own.drop();
    },
  };
}

/** The parameters as the contract reads them. */
export function reportInput(parameters: Record<string, unknown>): Input<typeof contract> {
  const raw = new Map(Object.entries({ ...DEFAULT_MONTHS, ...parameters }));
  return compileInput(contract.parameters)(raw) as Input<typeof contract>;
}

/** What the oracle counts for a request of the default months. */
export function oracleRequest(change: Partial<OracleRequest>): OracleRequest {
  return {
    selects: () => true,
    startMonth: DEFAULT_MONTHS.start_month,
    endMonth: DEFAULT_MONTHS.end_month,
    windowDays: primaryWindowDays,
    includeIncomplete: false,
    asOf: AS_OF,
    ...change,
  };
}

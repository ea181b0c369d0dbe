import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { API_VERSION, ENTITLEMENTS, SCOPES } from "../src/contract/endpoint.ts";
import { ERROR_STATUS } from "../src/contract/errors.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { parametersOf } from "./support/requests.ts";

const SNAPSHOT_FILE = join(import.meta.dirname, "contract.snapshot.json");
const HOW_TO_UPDATE =
  "The contract has changed. When that is meant: run this test with UPDATE_SNAPSHOT=1, add a line to CHANGELOG.md, " +
  "and commit both with the change.";

test("the contract is unchanged", () => {
  const contract = JSON.stringify(frozenContract(), null, 2);
  if (process.env["UPDATE_SNAPSHOT"] === "1") writeFileSync(SNAPSHOT_FILE, `${contract}\n`);
  const agreed = JSON.parse(readFileSync(SNAPSHOT_FILE, "utf8")) as unknown;
  assert.deepEqual(JSON.parse(contract), agreed, HOW_TO_UPDATE);
});

/** The part of the contract that clients depend on, without descriptions. */
function frozenContract(): unknown {
  return {
    version: API_VERSION,
    scopes: SCOPES,
    entitlements: ENTITLEMENTS,
    errors: ERROR_STATUS,
    endpoints: ENDPOINTS.map((endpoint) => ({
      name: endpoint.name,
      path: endpoint.path,
      scope: endpoint.scope,
      entitlements: endpoint.entitlements,
      toolName: endpoint.tool?.name ?? null,
      parameters: withoutWords(endpoint.parameters),
      response: withoutWords(endpoint.response),
    })),
  };
}

function withoutWords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (typeof schema !== "object" || schema === null) return schema;
  const words = new Set(["description", "x-allowed", "x-component"]);
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name, value]) => !(words.has(name) && typeof value === "string"))
      .map(([name, value]) => [name, withoutWords(value)]),
  );
}

// The tables of the specification, written down a second time.
const API = ["api_access"];
const MONTHS = ["start_month", "end_month"];
type Specified = [
  path: string,
  name: string,
  scope: string,
  entitlements: string[],
  tool: string | null,
  required: string[],
];
const SPECIFIED: readonly Specified[] = [
  ["entities", "entities", "read:dashboard", API, "list_entities", []],
  ["summary", "summary", "read:dashboard", API, "get_summary", MONTHS],
  ["report", "report", "read:reports", API, "get_report", MONTHS],
  ["timeseries", "timeseries", "read:reports", API, "get_timeseries", MONTHS],
  [
    "leaderboards/return-rate",
    "return-rate-leaderboard",
    "read:dashboard",
    API,
    "get_return_rate_leaderboard",
    [],
  ],
  [
    "leaderboards/return-cost",
    "return-cost-leaderboard",
    "read:dashboard",
    API,
    "get_return_cost_leaderboard",
    MONTHS,
  ],
  ["alerts", "alerts", "read:alerts", API, "list_alerts", []],
  ["export/report.csv", "export-report", "read:exports", [...API, "data_export"], null, MONTHS],
];

const SHARED = "sku product_gid store_product_gid product_group_type product_group_key".split(" ");
const RANGE = "start_month end_month window include_incomplete".split(" ");
const SALE = "saleEvent saleEventBaseline saleEventScope".split(" ");
const SPECIFIED_PARAMETERS: Record<string, readonly string[]> = {
  entities: ["q", "type", "limit", "cursor", "vendor"],
  summary: [...SHARED, ...RANGE, "include_used_variants"],
  report: [...SHARED, ...RANGE, "include_used_variants", "reportSection", ...SALE],
  timeseries: [...SHARED, ...RANGE],
  "return-rate-leaderboard": [...SHARED, "period", "limit", "min_return_rate", "min_sold_units", "vendor"],
  "return-cost-leaderboard": [...SHARED, ...RANGE, "limit", "min_cost", "vendor"],
  alerts: ["since", "category", "limit", "cursor"],
  "export-report": [...SHARED, ...RANGE, "include_used_variants", ...SALE],
};

const SPECIFIED_LIMITS: Record<string, { maximum: number; default?: number }> = {
  entities: { maximum: 100, default: 20 },
  "return-rate-leaderboard": { maximum: 500 },
  "return-cost-leaderboard": { maximum: 100 },
  alerts: { maximum: 100, default: 50 },
};

const SPECIFIED_ENUMS: Record<string, { values: string[]; default?: string }> = {
  type: { values: ["all", "sku", "product", "product_group"], default: "all" },
  product_group_type: { values: ["family", "analytics_category"] },
  window: { values: ["primary", "30d", "90d", "lifetime"], default: "primary" },
  period: { values: ["month", "year"], default: "year" },
  saleEventBaseline: { values: ["matched_prior", "selected_non_sale", "prior_year"] },
  saleEventScope: { values: ["current_selection", "event_scope"] },
};

describe("the specification", () => {
  test("lists these endpoints first, with these scopes, entitlements and tools; the snapshot lists all", () => {
    const actual = ENDPOINTS.map(({ path, name, scope, entitlements, tool, parameters }) => [
      path.replace("/api/v1/", ""),
      name,
      scope,
      [...entitlements],
      tool?.name ?? null,
      parameters.required ?? [],
    ]);
    assert.deepEqual(actual.slice(0, SPECIFIED.length), SPECIFIED);
  });

  test("gives each code of the closed list this status", () => {
    assert.deepEqual(ERROR_STATUS, {
      invalid_request: 400,
      unauthorized: 401,
      forbidden: 403,
      not_found: 404,
      not_ready: 409,
      rate_limited: 429,
      internal_error: 500,
    });
    assert.equal(API_VERSION, "2026-07-05");
  });

  for (const endpoint of ENDPOINTS) {
    const parameters = new Map(parametersOf(endpoint));
    test(`${endpoint.name} takes every parameter that it specifies`, () => {
      for (const name of SPECIFIED_PARAMETERS[endpoint.name] ?? []) assert.ok(parameters.has(name), name);
    });

    test(`${endpoint.name} has the specified limit and values`, () => {
      const limit = parameters.get("limit");
      const specified = SPECIFIED_LIMITS[endpoint.name];
      if (endpoint.name in SPECIFIED_PARAMETERS) assert.equal(limit?.maximum, specified?.maximum);
      assert.equal(limit?.minimum, limit && 1);
      if (specified?.default !== undefined) assert.equal(limit?.default, specified.default);
      for (const [name, { values, default: fallback }] of Object.entries(SPECIFIED_ENUMS)) {
        const schema = parameters.get(name);
        if (schema === undefined) continue;
        assert.deepEqual(schema.enum, values, name);
        if (fallback !== undefined) assert.equal(schema.default, fallback, name);
      }
      for (const name of ["include_incomplete", "include_used_variants"]) {
        if (parameters.has(name)) assert.equal(parameters.get(name)?.default, false);
      }
      assert.deepEqual(
        boundsOf(parameters.get("min_return_rate")),
        parameters.has("min_return_rate") ? [0, 1] : [],
      );
      assert.equal(parameters.get("min_cost")?.minimum, parameters.has("min_cost") ? 0 : undefined);
      assert.equal(
        parameters.get("min_sold_units")?.minimum,
        parameters.has("min_sold_units") ? 0 : undefined,
      );
    });

    test(`${endpoint.name}: every parameter is described and bounded`, () => {
      for (const [name, schema] of parameters) {
        assert.match(String(Reflect.get(schema, "description")), /\.$/u, `${name} needs a description`);
        const isBounded =
          schema.enum !== undefined ||
          schema.type === "boolean" ||
          schema.format === "date-time" ||
          schema.pattern !== undefined ||
          schema.minimum !== undefined ||
          schema.maxLength !== undefined;
        assert.ok(isBounded, `${name} needs bounds`);
      }
    });

    test(`${endpoint.name}: no object of its answer takes more members than it lists`, () =>
      assert.deepEqual(openObjects(endpoint.response, endpoint.name), []));
  }
});

function boundsOf(schema: { minimum?: number; maximum?: number } | undefined): (number | undefined)[] {
  return schema === undefined ? [] : [schema.minimum, schema.maximum];
}

/** Paths of object schemas that allow additional members; only alert metadata may. */
function openObjects(schema: unknown, path: string): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, properties, additionalProperties } = schema as Record<string, unknown>;
  const isOpen = type === "object" && properties !== undefined && additionalProperties !== false;
  const inner = Object.entries(schema).flatMap(([name, value]) => openObjects(value, `${path}.${name}`));
  return isOpen ? [path, ...inner] : inner;
}

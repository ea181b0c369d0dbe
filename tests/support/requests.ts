import assert from "node:assert/strict";
import { listParameters, pathNames, takesSelector } from "../../src/contract/endpoint.ts";
import type { Endpoint, ParameterSchema } from "../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import type { TestService } from "./service.ts";
import type { Tenant } from "./tenants.ts";

/** The parameters of an endpoint's query with their schemas, by name. */
export function parametersOf(endpoint: Endpoint): [name: string, schema: ParameterSchema][] {
  const ofPath = pathNames(endpoint.path);
  return listParameters(endpoint.parameters)
    .filter(({ name }) => !ofPath.includes(name))
    .map(({ name, schema }) => [name, schema]);
}

type Params = Record<string, string>;

/** What endpoints are asked of a store. */
export type Questions = {
  /** Of the endpoints that take months. */
  months?: Params;
  /** Instead of those, where rows are days: there may be twelve months of them. */
  lastYear?: Params;
  filters: readonly Params[];
  selectors: readonly Params[];
};

/** What one endpoint is asked of a store: nothing more, each value of each list, each filter that it takes, and each selector if it takes any. */
export function questionsOf(
  endpoint: Endpoint,
  { months = {}, lastYear, filters, selectors }: Questions,
): Params[] {
  const takes = (params: Params): boolean =>
    Object.keys(params).every((name) => name in endpoint.parameters.properties);
  const range = takes(months) ? months : {};
  return [
    {},
    ...listedValues(endpoint),
    ...filters.filter(takes),
    ...(takesSelector(endpoint) ? selectors : []),
  ].map((params) => ({ ...range, ...(params["interval"] === "day" ? lastYear : {}), ...params }));
}

/** Each window, and requests in which each other list has each of its values once or more: as many as the longest list has. */
function listedValues(endpoint: Endpoint): Params[] {
  const lists = parametersOf(endpoint).flatMap(([name, { enum: values = [] }]) =>
    values.length === 0 || name === "product_group_type" ? [] : [{ name, values }],
  );
  // `lifetime` has no figures of a window, so no other list is combined with it.
  const windows = lists.flatMap(({ name, values }) => (name === "window" ? values : []));
  const others = lists.filter(({ name }) => name !== "window");
  const longest = Math.max(0, ...others.map(({ values }) => values.length));
  const turns = Array.from({ length: longest }, (_, turn) =>
    Object.fromEntries(others.map(({ name, values }) => [name, values[turn % values.length] ?? ""])),
  );
  return [...windows.map((window) => ({ window })), ...turns];
}

/** The required parameters of an endpoint's query: the months, if it takes them. */
export function leastParameters(endpoint: Endpoint): Record<string, string> {
  return "start_month" in endpoint.parameters.properties
    ? { start_month: "2026-01", end_month: "2026-03" }
    : {};
}

/** Path parameters for tests that do not depend on them. */
export const USUAL_PATH_VALUES: Readonly<Record<string, string>> = { table: "cohorts", format: "csv" };

/** Values that a parameter must refuse, percent-encoded, derived from its schema. */
export function brokenValues(schema: ParameterSchema): string[] {
  if (schema.enum !== undefined) return ["nonsense", `${schema.enum[0]}%20`, "%00"];
  if (schema.type === "boolean") return ["maybe", "2", "True%20"];
  if (schema.type === "integer" || schema.type === "number") return brokenNumbers(schema);
  if (schema.format === "date-time") return BROKEN_DATE_TIMES;
  if (schema.pattern !== undefined) return BROKEN_MONTHS;
  return ["%00", "line%0Abreak", "a".repeat((schema.maxLength ?? 0) + 1)];
}

const BROKEN_MONTHS = ["2026-13", "2026-00", "0000-01", "26-01", "2026-1", "2026-01-01"];

const BROKEN_DATE_TIMES = [
  "yesterday",
  "2026-01-01",
  "2026-01-01T00:00:00",
  "2026-02-30T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-01-01T25:00:00Z",
  "0000-01-01T00:00:00Z",
];

function brokenNumbers(schema: ParameterSchema): string[] {
  const values = ["abc", "1e3", "0x10", "NaN", "Infinity", "1,000", "%D9%A1"];
  if (schema.minimum !== undefined) values.push(String(schema.minimum - 1));
  if (schema.maximum !== undefined) values.push(String(BigInt(schema.maximum) + 1n));
  if (schema.type === "integer") values.push("1.5", "9007199254740993");
  return values;
}

/** What every endpoint answers to a token without a daily limit, by name: the data of JSON, and a file as it is. */
export async function answersOf(
  { call }: Pick<TestService, "call">,
  { token }: Pick<Tenant, "token">,
): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const endpoint of ENDPOINTS) {
    const params = leastParameters(endpoint);
    const { status, text } = await call(endpoint.path, { token, params, isUnlimited: true });
    assert.equal(status, 200, text);
    answers.push([endpoint.name, text.startsWith("{") ? (JSON.parse(text) as { data: unknown }).data : text]);
  }
  return answers;
}

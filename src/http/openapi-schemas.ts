import { ENDPOINTS } from "../contract/registry.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { describeField } from "./openapi-fields.ts";

export type JsonObject = { [member: string]: unknown };

/** What the document's own words need of a JSON Schema; the rest is passed on. */
export type JsonSchema = JsonObject & {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  pattern?: string;
};

/** Shared schemas: where in which answer each is found; `[]` = the items of an array. */
const PLACES: readonly (readonly [name: string, endpoint: string, place: string])[] = [
  ["Freshness", "entities", "meta.freshness"],
  ["FreshnessSource", "entities", "meta.freshness.sources.[]"],
  ["Selector", "summary", "meta.selector"],
  ["PublicEntity", "entities", "data.[]"],
  ["PublicEntitySelector", "entities", "data.[].selector"],
  ["ReturnRate", "summary", "data"],
  ["ReturnRateLeaderboard", "return-rate-leaderboard", "data"],
  ["ReturnCostLeaderboard", "return-cost-leaderboard", "data"],
  ["TimeseriesRow", "timeseries", "data.rows.[]"],
  ["ReturnRateLeaderboardRow", "return-rate-leaderboard", "data.rows.[]"],
  ["ReturnCostLeaderboardRow", "return-cost-leaderboard", "data.rows.[]"],
  ["Alert", "alerts", "data.[]"],
  ["Report", "report", "data"],
  ["ReportSummary", "report", "data.summary"],
  ["RateInterval", "report", "data.summary.return_rate_interval"],
  ["ReportComparison", "report", "data.comparison"],
  ["ReportTrendRow", "report", "data.trend.[]"],
  ["ReportReason", "report", "data.return_reasons.[]"],
  ["ReportRefunds", "report", "data.refunds"],
  ["ReportTimingBucket", "report", "data.timing_buckets.[]"],
  ["ReportLifecycleCoverage", "report", "data.lifecycle_coverage"],
  ["ReportCosts", "report", "data.costs"],
  ["ReportSaleEvent", "report", "data.sale_event"],
  ["SaleEvent", "report", "data.sale_events.[]"],
  ["SaleEventBaseline", "report", "data.sale_event.baseline_period"],
];

/** The schemas of the contract's answers as components, each named once and referred to everywhere else. */
export function responseSchemas(): Record<string, JsonSchema> {
  const sources = new Map<string, JsonSchema>(
    PLACES.map(([name, endpoint, place]) => [name, schemaAt(endpoint, place)]),
  );
  for (const endpoint of ENDPOINTS as readonly Endpoint[]) {
    if (endpoint.response === null) continue;
    sources.set(`${componentPrefix(endpoint)}Meta`, schemaAt(endpoint.name, "meta"));
    sources.set(`${componentPrefix(endpoint)}Response`, endpoint.response as JsonSchema);
  }
  const names = new Map([...sources].map(([name, schema]) => [JSON.stringify(schema), name]));
  return Object.fromEntries(
    [...sources].map(([name, schema]) => [name, convert(schema, { names, component: name, isTop: true })]),
  );
}

/** PascalCase of an endpoint's name: `return-rate-leaderboard` → `ReturnRateLeaderboard`. */
export function componentPrefix(endpoint: Endpoint): string {
  return endpoint.name.replaceAll(/(?:^|-)(\w)/gu, (_match, letter: string) => letter.toUpperCase());
}

/** A schema in the words of OpenAPI 3.1: enums typed, null as a type, nothing internal, patterns that RE2 reads. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  return convert(schema, { names: new Map(), component: "", isTop: true });
}

type Context = {
  /** Component names by the JSON of what they stand for. */
  names: ReadonlyMap<string, string>;
  /** The component that is being written. */
  component: string;
  /** The component's own schema, which must not become a reference to itself. */
  isTop: boolean;
};

function convert(schema: JsonSchema, context: Context): JsonSchema {
  const name = context.isTop ? undefined : context.names.get(JSON.stringify(schema));
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const inner = { ...context, isTop: false };
  if (schema.anyOf !== undefined) return convertUnion(schema, schema.anyOf, inner);
  if (schema.patternProperties !== undefined) return { type: "object", additionalProperties: true };
  const { properties, items, pattern, ...rest } = schema;
  return {
    ...(rest.enum === undefined ? {} : { type: "string" }),
    ...publicMembers(rest),
    ...(pattern === undefined ? {} : { pattern: pattern.replaceAll(/\(\?!\w+\)/gu, "") }),
    ...(items === undefined ? {} : { items: convert(items, inner) }),
    ...(properties === undefined ? {} : { properties: convertProperties(properties, inner) }),
  };
}

function convertUnion(schema: JsonSchema, members: JsonSchema[], context: Context): JsonSchema {
  const [only, ...others] = members
    .filter((member) => member.type !== "null")
    .map((member) => convert(member, context));
  if (others.length > 0) return { ...publicMembers(schema), oneOf: [only, ...others] };
  const { description, ...rest } = only ?? {};
  const said = description === undefined ? {} : { description };
  if (rest["$ref"] !== undefined) return { oneOf: [rest, { type: "null" }] };
  const type = [rest.type as string, "null"];
  return { ...rest, type, ...(rest.enum === undefined ? {} : { enum: [...rest.enum, null] }), ...said };
}

function convertProperties(
  properties: Record<string, JsonSchema>,
  context: Context,
): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const converted = convert(property, context);
      const description = converted.description ?? describeField(context.component, name);
      return [name, description === undefined ? converted : { ...converted, description }];
    }),
  );
}

/** A member that begins with x- is a note of the contract to itself. */
function publicMembers(schema: JsonSchema): JsonSchema {
  const { anyOf: _union, ...rest } = schema;
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith("x-")));
}

function schemaAt(endpointName: string, place: string): JsonSchema {
  const endpoint = ENDPOINTS.find(({ name }) => name === endpointName);
  let schema = endpoint?.response as JsonSchema | undefined;
  for (const step of place.split(".")) {
    schema = step === "[]" ? schema?.items : schema?.properties?.[step];
    schema = schema?.anyOf?.length === 2 ? withoutNull(schema) : schema;
  }
  if (schema === undefined) throw new Error(`The contract has no ${place} in ${endpointName}.`);
  return schema;
}

function withoutNull(union: JsonSchema): JsonSchema {
  const [only, ...others] = (union.anyOf ?? []).filter((member) => member.type !== "null");
  return only === undefined || others.length > 0 ? union : only;
}

import { MAXIMUM_MONTHS } from "../contract/parameters.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { EndpointExample } from "./openapi-examples.ts";
import { errorReferences, headerReferences } from "./openapi-responses.ts";
import { componentPrefix, plainSchema } from "./openapi-schemas.ts";
import type { JsonObject, JsonSchema } from "./openapi-schemas.ts";

const SELECTOR_TEXT =
  "**Selector.** Give one family at most: `sku`, or `product_gid` (or an alias of it), or `product_group_type` together " +
  "with `product_group_key`; none means the whole workspace. Take them from `/api/v1/entities`. A name that this " +
  "workspace never had is a 400.";
const MONTHS_TEXT =
  `**Months.** Order cohorts in UTC, both ends included, at most ${MAXIMUM_MONTHS}. Months whose window is still open ` +
  "are left out unless `include_incomplete=true`.";

/** The OpenAPI operation of an endpoint. */
export function describeOperation(endpoint: Endpoint, example: EndpointExample): JsonObject {
  return {
    operationId: operationId(endpoint),
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    description: descriptionOf(endpoint),
    security: [{ bearerAuth: [endpoint.scope] }],
    parameters: describeParameters(endpoint, example),
    responses: { "200": describeAnswer(endpoint, example), ...errorReferences() },
  };
}

/** The tool's name in camelCase, and the endpoint's own where no tool wraps it. */
export function operationId(endpoint: Endpoint): string {
  return (endpoint.toolName ?? endpoint.name).replaceAll(/[-_](\w)/gu, (_match, letter: string) =>
    letter.toUpperCase(),
  );
}

function tagOf({ path }: Endpoint): string {
  const [, , , first = ""] = path.split("/");
  const TAGS: Record<string, string> = {
    entities: "Catalogue",
    leaderboards: "Leaderboards",
    alerts: "Alerts",
    export: "Export",
  };
  return TAGS[first] ?? "Return rates";
}

function descriptionOf({ description, parameters, scope, entitlements }: Endpoint): string {
  const names = parameters.properties;
  return [
    description,
    ...("sku" in names ? [SELECTOR_TEXT] : []),
    ...("start_month" in names ? [MONTHS_TEXT] : []),
    `**Needs** the scope \`${scope}\` and the plan's ${entitlements.map((name) => `\`${name}\``).join(" and ")}.`,
  ].join("\n\n");
}

function describeParameters(endpoint: Endpoint, { query }: EndpointExample): JsonObject[] {
  const required = new Set(endpoint.parameters.required as string[] | undefined);
  const examples = new URLSearchParams(query);
  return Object.entries(endpoint.parameters.properties).map(([name, schema]) => {
    const { description, ...rest } = plainSchema(schema as JsonSchema);
    const example = examples.get(name);
    return {
      name,
      in: "query",
      required: required.has(name),
      description,
      schema: rest,
      ...(example === null ? {} : { example: typedExample(rest, example) }),
    };
  });
}

function typedExample(schema: JsonSchema, example: string): unknown {
  if (schema.type === "integer" || schema.type === "number") return Number(example);
  return schema.type === "boolean" ? example === "true" : example;
}

function describeAnswer(endpoint: Endpoint, { answer }: EndpointExample): JsonObject {
  if (endpoint.response === null) {
    return {
      description: "A CSV file: UTF-8, CRLF, RFC 4180, one figure a row. The example shows its first rows.",
      headers: headerReferences({ hasQuota: true, others: ["Content-Disposition"] }),
      content: { "text/csv": { schema: { type: "string" }, example: answer } },
    };
  }
  const reference = { $ref: `#/components/schemas/${componentPrefix(endpoint)}Response` };
  return {
    description: "The answer. Long lists of the example are cut short.",
    headers: headerReferences({ hasQuota: true }),
    content: { "application/json": { schema: reference, example: answer } },
  };
}

import { camelCase, listParameters, pascalCase } from "../contract/endpoint.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { MAXIMUM_MONTHS } from "../contract/parameters.ts";
import examples from "./openapi-examples.json" with { type: "json" };
import { errorReferences, headerReferences } from "./openapi-responses.ts";
import { plainSchema } from "./openapi-schemas.ts";
import type { JsonObject, JsonSchema } from "./openapi-schemas.ts";

const SELECTOR_TEXT =
  "**Selector.** Give one family at most: `sku`, or `product_gid` (or an alias of it), or `product_group_type` together " +
  "with `product_group_key`; none means the whole workspace. Take them from `/api/v1/entities`. A name that this " +
  "workspace never had is a 400.";
const MONTHS_TEXT =
  `**Months.** Order cohorts in UTC, both ends included, at most ${MAXIMUM_MONTHS}. Months whose window is still open ` +
  "are left out unless `include_incomplete=true`.";

/** What the demo store answered to each endpoint's example, lists shortened, as a test wrote it down. */
const ANSWERS: Readonly<Record<string, unknown>> = examples.endpoints;

/** The OpenAPI operation of an endpoint, named like its tool, or like itself where it has none. */
export function describeOperation(endpoint: Endpoint): JsonObject {
  return {
    operationId: camelCase(endpoint.tool?.name ?? endpoint.name),
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: descriptionOf(endpoint),
    security: [{ bearerAuth: [endpoint.scope] }],
    parameters: describeParameters(endpoint),
    responses: { "200": describeAnswer(endpoint), ...errorReferences() },
  };
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

function describeParameters({ parameters, example }: Endpoint): JsonObject[] {
  const given = new URLSearchParams(example);
  return listParameters(parameters).map(({ name, schema, isRequired }) => {
    const { description, ...rest } = plainSchema(schema as JsonSchema);
    const value = given.get(name);
    return {
      name,
      in: "query",
      required: isRequired,
      description,
      schema: rest,
      ...(value === null ? {} : { example: typedExample(rest, value) }),
    };
  });
}

function typedExample(schema: JsonSchema, example: string): unknown {
  if (schema.type === "integer" || schema.type === "number") return Number(example);
  return schema.type === "boolean" ? example === "true" : example;
}

function describeAnswer(endpoint: Endpoint): JsonObject {
  const example = ANSWERS[endpoint.name];
  if (endpoint.response === null) {
    return {
      description: "A CSV file: UTF-8, CRLF, RFC 4180, one figure a row. The example shows its first rows.",
      headers: headerReferences({ hasQuota: true, others: ["Content-Disposition"] }),
      content: { "text/csv": { schema: { type: "string" }, example } },
    };
  }
  const reference = { $ref: `#/components/schemas/${pascalCase(endpoint.name)}Response` };
  return {
    description: "The answer. Long lists of the example are cut short.",
    headers: headerReferences({ hasQuota: true }),
    content: { "application/json": { schema: reference, example } },
  };
}

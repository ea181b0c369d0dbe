import examples from "./openapi-examples.json" with { type: "json" };
import { TAGS, camelCase, listParameters, pascalCase } from "../contract/endpoint.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { MAXIMUM_MONTHS } from "../contract/parameters.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { API_VERSION } from "../contract/version.ts";
import { MCP_PATH, MCP_SCHEMAS, describeMcp } from "./openapi-mcp.ts";
import {
  ERROR_SCHEMA,
  HEADERS,
  errorResponses,
  errorReferences,
  headerReferences,
} from "./openapi-responses.ts";
import { responseSchemas, plainSchema } from "./openapi-schemas.ts";
import type { JsonMembers, JsonSchema } from "./openapi-schemas.ts";

export type OpenApiDocument = {
  openapi: string;
  info: JsonMembers & { title: string; version: string; description: string };
  servers: JsonMembers[];
  tags: { name: string; description: string }[];
  security: JsonMembers[];
  paths: Record<string, Record<string, JsonMembers>>;
  components: Record<string, JsonMembers>;
};

/** The whole API as an OpenAPI 3.1 document: a loop over the contract. */
export function buildOpenApi(): OpenApiDocument {
  return {
    openapi: "3.1.1",
    info: {
      title: "Returns Analytics API",
      version: API_VERSION,
      summary: "Cohort return rates, leaderboards, reports, alerts and exports of one store.",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The service that serves this document." }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ bearerAuth: [] }],
    paths: {
      ...Object.fromEntries(
        (ENDPOINTS as readonly Endpoint[]).map((endpoint) => [
          endpoint.path,
          { get: describeOperation(endpoint) },
        ]),
      ),
      [MCP_PATH]: { post: describeMcp() },
    },
    components: {
      securitySchemes: { bearerAuth: BEARER },
      schemas: { ...responseSchemas(), Error: ERROR_SCHEMA, ...MCP_SCHEMAS },
      responses: errorResponses(),
      headers: HEADERS,
    },
  };
}

const BEARER: JsonMembers = {
  type: "http",
  scheme: "bearer",
  description: `A token of one workspace, \`rta_live_…\`. Scopes: ${scopesText()}. Each operation names the one it needs.`,
};

/** The scopes and what they open: `read:reports` (report, timeseries); nothing for one that says it itself. */
function scopesText(): string {
  const byScope = Map.groupBy(ENDPOINTS as readonly Endpoint[], ({ scope }) => scope);
  const texts = [...byScope].map(([scope, endpoints]) => {
    const places = new Set(endpoints.map(({ path }) => path.split("/")[3] ?? ""));
    const isClear = [...places].every((place) => scope.includes(place));
    return isClear ? `\`${scope}\`` : `\`${scope}\` (${[...places].join(", ")})`;
  });
  return texts.join(", ");
}

const DESCRIPTION = [
  "Read-only, server to server. One token reads one workspace; every answer is uncacheable.",
  "**Numbers.** A return counts in the month its order was placed in, if it came within the observation window: `30d`, `90d`, " +
    "`primary` (the workspace's own, 30 days unless changed) or `lifetime`. Rates are 0–1 fractions.",
  "**Parameters.** An empty value counts as not given. A parameter that the endpoint does not take is a 400, and so is a known one given twice. " +
    "Booleans are `true` or `false`.",
  "**Order of checks.** Token (401), billing, entitlement and scope (403), readiness (409), quota (429), parameters (400). What " +
    "gets as far as the parameters is counted. An unknown path is a 404, a wrong method a 405; neither is counted.",
  "**Guides** are at [/docs](/docs).",
].join("\n\n");

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
function describeOperation(endpoint: Endpoint): JsonMembers {
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

function describeParameters({ parameters, example }: Endpoint): JsonMembers[] {
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

function describeAnswer(endpoint: Endpoint): JsonMembers {
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

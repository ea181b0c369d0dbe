import type { Endpoint } from "../contract/endpoint.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { API_VERSION } from "../contract/version.ts";
import { EXAMPLES, exampleOf } from "./openapi-examples.ts";
import { MCP_PATH, MCP_SCHEMAS, describeMcp } from "./openapi-mcp.ts";
import { describeOperation } from "./openapi-operation.ts";
import { ERROR_SCHEMA, HEADERS, errorResponses } from "./openapi-responses.ts";
import { responseSchemas } from "./openapi-schemas.ts";
import type { JsonObject } from "./openapi-schemas.ts";

export type OpenApiDocument = {
  openapi: string;
  info: JsonObject & { title: string; version: string; description: string };
  servers: JsonObject[];
  tags: { name: string; description: string }[];
  security: JsonObject[];
  paths: Record<string, Record<string, JsonObject>>;
  components: Record<string, JsonObject>;
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
    tags: TAGS,
    security: [{ bearerAuth: [] }],
    paths: {
      ...Object.fromEntries(
        (ENDPOINTS as readonly Endpoint[]).map((endpoint) => [
          endpoint.path,
          { get: describeOperation(endpoint, exampleOf(endpoint.name)) },
        ]),
      ),
      [MCP_PATH]: { post: describeMcp() },
    },
    components: {
      securitySchemes: { bearerAuth: BEARER },
      schemas: { ...responseSchemas(), Error: ERROR_SCHEMA, ...MCP_SCHEMAS },
      responses: errorResponses(EXAMPLES.errors),
      headers: HEADERS,
    },
  };
}

const BEARER: JsonObject = {
  type: "http",
  scheme: "bearer",
  description:
    "A token of one workspace, `rta_live_…`. Scopes: `read:dashboard` (entities, summary, leaderboards), `read:reports` " +
    "(report, timeseries), `read:alerts`, `read:exports`. Each operation names the one it needs.",
};

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

const TAGS = [
  { name: "Alerts", description: "What changed in the workspace, newest first." },
  { name: "Catalogue", description: "SKUs, products and product groups: the selectors for the rest." },
  { name: "Export", description: "The report as a file." },
  { name: "Leaderboards", description: "SKUs by return rate and by what their returns cost." },
  { name: "MCP", description: "The same data as tools for AI agents." },
  { name: "Return rates", description: "Return rates of a selection over order-cohort months." },
];

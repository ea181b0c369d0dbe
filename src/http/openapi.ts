import examples from "./openapi-examples.json" with { type: "json" };
import {
  API_VERSION,
  camelCase,
  fileTypes,
  listParameters,
  pascalCase,
  pathNames,
  TAGS,
} from "../contract/endpoint.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { ERROR_STATUS, type ErrorCode } from "../contract/errors.ts";
import { MAXIMUM_MONTHS } from "../contract/parameters.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import { TOOLS } from "../contract/tools.ts";
import { COMMON_HEADERS } from "./headers.ts";
import { plainSchema, responseSchemas, type JsonMembers, type JsonSchema } from "./openapi-schemas.ts";

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

/** The scopes and what they open: `read:reports` (report, timeseries); empty for a scope whose name says it. */
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
  "**Order of checks.** Token (401), billing, entitlement and scope (403), readiness (409), quota (429), parameters (400). A request " +
    "that gets as far as the parameters is counted. An unknown path is a 404, a wrong method a 405; neither is counted.",
  "**Guides** are at [/docs](/docs).",
].join("\n\n");

const SELECTOR_TEXT =
  "**Selector.** Give at most one: `sku`, or `product_gid` (or an alias of it), or `product_group_type` together " +
  "with `product_group_key`; none means the whole workspace. Take them from `/api/v1/entities`. A name that this " +
  "workspace never had is a 400.";
const MONTHS_TEXT =
  `**Months.** Order cohorts in UTC, both ends included, at most ${MAXIMUM_MONTHS}. Months whose window is still open ` +
  "are left out unless `include_incomplete=true`.";

/** The demo store's answers to each endpoint's example, with shortened lists, as written by a test. */
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

function describeParameters({ path, parameters, example }: Endpoint): JsonMembers[] {
  const given = new URLSearchParams(example);
  return listParameters(parameters).map(({ name, schema, isRequired }) => {
    const { description, ...rest } = plainSchema(schema as JsonSchema);
    const value = given.get(name);
    return {
      name,
      in: pathNames(path).includes(name) ? "path" : "query",
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
  const types = fileTypes(endpoint);
  if (types !== null) {
    const contents = types.map((type) => [
      type,
      type === "text/csv"
        ? { schema: { type: "string" }, example }
        : { schema: { type: "string", contentMediaType: type } },
    ]);
    return {
      description:
        "The file. CSV is UTF-8 (RFC 4180), the report with CRLF, tables with LF; the example shows its first rows.",
      headers: headerReferences(...QUOTA, "Content-Disposition"),
      content: Object.fromEntries(contents),
    };
  }
  const reference = { $ref: `#/components/schemas/${pascalCase(endpoint.name)}Response` };
  return {
    description: "The answer. Long lists of the example are cut short.",
    headers: headerReferences(...QUOTA),
    content: { "application/json": { schema: reference, example } },
  };
}

const text = (description: string, example?: string): JsonMembers => ({
  description,
  schema: { type: "string" },
  ...(example === undefined ? {} : { example }),
});
const fixed = (name: keyof typeof COMMON_HEADERS, description: string): JsonMembers => ({
  description,
  required: true,
  schema: { type: "string", const: COMMON_HEADERS[name] },
});

/** Every header of the contract, by its name on the wire. */
const HEADERS: Readonly<Record<string, JsonMembers>> = {
  "Cache-Control": fixed("Cache-Control", "No copy may be kept."),
  "CDN-Cache-Control": fixed("CDN-Cache-Control", "No copy may be kept by a CDN."),
  "Edge-CDN-Cache-Control": fixed("Edge-CDN-Cache-Control", "The same under a name that CDN vendors vary."),
  "Cloudflare-CDN-Cache-Control": fixed(
    "Cloudflare-CDN-Cache-Control",
    "The same under a vendor's own name.",
  ),
  "Vercel-CDN-Cache-Control": fixed("Vercel-CDN-Cache-Control", "The same under a vendor's own name."),
  "X-Content-Type-Options": fixed("X-Content-Type-Options", "The Content-Type must not be guessed."),
  "X-Returns-API-Version": fixed("X-Returns-API-Version", "Version of the contract."),
  "X-Request-ID": {
    ...text(
      "The X-Request-ID of the request, if it is 1 to 128 of the characters A–Z a–z 0–9 . _ : -, otherwise a new one.",
    ),
    required: true,
    example: "3f2b0c5e-6f0a-4a3c-9a51-0f6f3f1f2c55",
  },
  "X-RateLimit-Limit": {
    description: "Requests that the plan allows in a UTC day. Absent for a plan without a limit.",
    schema: { type: "integer", minimum: 0 },
    example: 25_000,
  },
  "X-RateLimit-Remaining": {
    description: "Requests left in the current UTC day. Absent for a plan without a limit.",
    schema: { type: "integer", minimum: 0 },
    example: 24_999,
  },
  "X-RateLimit-Reset": {
    description: "When the next UTC day begins. Absent for a plan without a limit.",
    schema: { type: "string", format: "date-time" },
    example: "2026-07-02T00:00:00.000Z",
  },
  "Retry-After": {
    description: "Seconds to wait before trying again.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 3600,
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
  "Content-Disposition": {
    ...text(
      "Name of the file; that of a report has the selection and the months.",
      'attachment; filename="returns-report_workspace_2026-01_2026-05.csv"',
    ),
    required: true,
  },
  Allow: { ...text("The methods that the path allows.", "POST"), required: true },
};

const COMMON = [...Object.keys(COMMON_HEADERS), "X-Request-ID"];
const QUOTA = Object.keys(HEADERS).filter((name) => name.startsWith("X-RateLimit-"));

/** References to the headers of an answer: those of every one, and others. */
function headerReferences(...others: readonly string[]): JsonMembers {
  const names = [...COMMON, ...others];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The body of every refusal. */
const ERROR_SCHEMA: JsonMembers = {
  type: "object",
  description: "The body of every error.",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      description: "What went wrong.",
      required: ["code", "message"],
      properties: {
        code: {
          type: "string",
          enum: Object.keys(ERROR_STATUS),
          description:
            "What clients branch on. not_found is the answer (404) at a path that is none of the API's.",
        },
        message: {
          type: "string",
          minLength: 1,
          description: "A sentence for people: what is wrong and what is allowed. Its wording may change.",
        },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

/** The refusals that every endpoint shares, in the order in which they are decided. */
const REFUSALS: readonly { code: ErrorCode; when: string; headers: readonly string[] }[] = [
  {
    code: "unauthorized",
    when: "the token is missing, malformed, unknown, revoked or expired. Not counted.",
    headers: ["WWW-Authenticate"],
  },
  {
    code: "forbidden",
    when: "billing is not active, the plan lacks an entitlement, or the token lacks the scope. Not counted.",
    headers: [],
  },
  {
    code: "not_ready",
    when: "the workspace is installing, reconnecting, backfilling, moving or scheduled for erasure; retry after the next sync. Not counted.",
    headers: QUOTA,
  },
  {
    code: "rate_limited",
    when: "the plan's daily quota is used up, or too many requests of the workspace are running at once. Not counted.",
    headers: [...QUOTA, "Retry-After"],
  },
  {
    code: "invalid_request",
    when: "the message names the parameter and what is allowed. Counted.",
    headers: QUOTA,
  },
  {
    code: "internal_error",
    when: "an unexpected failure; quote X-Request-ID. The rate-limit headers are absent when it came before the plan was known.",
    headers: [...QUOTA, "Retry-After"],
  },
];

/** Real bodies, by status. */
const BODIES: Readonly<Record<string, unknown>> = examples.errors;

/** The shared refusals as components. */
function errorResponses(): JsonMembers {
  return Object.fromEntries(
    REFUSALS.map(({ code, when, headers }) => [
      pascalCase(code),
      {
        description: `\`${code}\`: ${when}`,
        headers: headerReferences(...headers),
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/Error" },
            example: BODIES[ERROR_STATUS[code]],
          },
        },
      },
    ]),
  );
}

/** References to the shared refusals, by status. */
function errorReferences(): JsonMembers {
  return Object.fromEntries(
    REFUSALS.map(({ code }) => [
      String(ERROR_STATUS[code]),
      { $ref: `#/components/responses/${pascalCase(code)}` },
    ]),
  );
}

const MCP_PATH = "/api/v1/mcp";

/** JSON-RPC messages, as the MCP endpoint takes and gives them. */
const MCP_SCHEMAS: JsonMembers = {
  JsonRpcRequest: {
    type: "object",
    description: "One JSON-RPC 2.0 message; an array of them is refused.",
    required: ["jsonrpc", "method"],
    properties: {
      jsonrpc: { type: "string", const: "2.0", description: "Version of JSON-RPC." },
      id: {
        type: ["string", "integer"],
        description: "Repeated in the answer. Without it the message is a notification.",
      },
      method: {
        type: "string",
        description: "tools/list or tools/call; initialize or ping before 2026-07-28, server/discover in it.",
      },
      params: {
        type: "object",
        description: "Parameters of the method; in 2026-07-28 with the members of _meta that it requires.",
        additionalProperties: true,
      },
    },
    additionalProperties: true,
  },
  JsonRpcResponse: {
    type: "object",
    description: "A JSON-RPC 2.0 answer: a result or an error.",
    required: ["jsonrpc", "id"],
    properties: {
      jsonrpc: { type: "string", const: "2.0", description: "Version of JSON-RPC." },
      id: {
        type: ["string", "integer", "null"],
        description: "The request's id; null when it is unknown.",
      },
      result: { type: "object", description: "Result of the method.", additionalProperties: true },
      error: {
        type: "object",
        description: "What went wrong.",
        required: ["code", "message"],
        properties: {
          code: {
            type: "integer",
            description:
              "-32700 not JSON, -32600 invalid request, -32601 unknown method, -32602 unknown tool or invalid params, " +
              "-32603 internal error, -32001 authentication failed, -32020 a header and the body differ, -32022 unsupported version.",
          },
          message: { type: "string", description: "A sentence for people." },
          data: {
            type: "object",
            description: "Of an unsupported version: the supported ones and the requested one.",
            additionalProperties: true,
          },
        },
        additionalProperties: true,
      },
    },
    additionalProperties: false,
  },
};

/** The MCP endpoint as an OpenAPI operation; its tools are those of the contract. */
function describeMcp(): JsonMembers {
  return {
    operationId: "postMcp",
    tags: ["MCP"],
    summary: "Model Context Protocol",
    description: MCP_DESCRIPTION,
    security: [{ bearerAuth: [] }],
    parameters: [
      {
        name: "MCP-Protocol-Version",
        in: "header",
        description:
          "Protocol revision that initialize agreed on; without it the request is served too. 2026-07-28 requires it.",
        schema: { type: "string", enum: ["2025-06-18", "2025-11-25", "2026-07-28"] },
        example: "2025-06-18",
      },
      {
        name: "Mcp-Method",
        in: "header",
        description: "The body's method. Required in revision 2026-07-28, ignored before.",
        schema: { type: "string" },
        example: "tools/call",
      },
      {
        name: "Mcp-Name",
        in: "header",
        description:
          "The name of the tool that tools/call names. Required in revision 2026-07-28, ignored before.",
        schema: { type: "string" },
        example: "list_entities",
      },
    ],
    requestBody: {
      required: true,
      description: "One JSON-RPC message.",
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/JsonRpcRequest" },
          examples: {
            callTool: { summary: "Call a tool", value: examples.mcp.request },
            listTools: { summary: "List the tools", value: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
            initialized: {
              summary: "A notification",
              value: { jsonrpc: "2.0", method: "notifications/initialized" },
            },
          },
        },
      },
    },
    responses: RESPONSES,
  };
}

const MCP_DESCRIPTION = [
  "JSON-RPC 2.0 over one POST, protocol revision 2025-06-18: no event stream, no session, no batch. Methods: `initialize`, " +
    "`ping`, `tools/list`, `tools/call`. A request whose `_meta` names a protocol version is one of revision 2026-07-28: " +
    "`server/discover`, `tools/list`, `tools/call`.",
  `Tools: ${TOOLS.map(({ name }) => `\`${name}\``).join(", ")}. Each wraps the endpoint of its name: the same arguments, ` +
    "scope, quota and numbers, and its text is the endpoint's body. When the endpoint refuses, `isError` is true and the text is " +
    "the error body.",
  "Each `tools/call` of a known tool is one request of the daily quota; nothing else here is counted.",
].join("\n\n");

const errorAnswer = (
  description: string,
  code: number,
  message: string,
  ...headers: readonly string[]
): JsonMembers => ({
  description,
  headers: headerReferences(...headers),
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/JsonRpcResponse" },
      example: { jsonrpc: "2.0", id: null, error: { code, message } },
    },
  },
});

const RESPONSES: JsonMembers = {
  "200": {
    description: "The answer to a request; a tool's refusal and an unknown method are answers too.",
    headers: headerReferences(...QUOTA),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/JsonRpcResponse" },
        example: examples.mcp.answer,
      },
    },
  },
  "202": {
    description: "A notification was accepted; there is no body.",
    headers: headerReferences(...QUOTA),
  },
  "400": errorAnswer(
    "Not JSON, not a JSON-RPC request, a batch, or an unknown MCP-Protocol-Version. In 2026-07-28 also a missing member of " +
      "_meta, and a header that differs from the body.",
    -32_600,
    "Send one JSON-RPC request, not a batch.",
    ...QUOTA,
  ),
  "401": errorAnswer(
    "The token is missing, malformed, unknown, revoked or expired.",
    -32_001,
    "The token is not known. Set the header Authorization: Bearer <API_TOKEN> where the MCP client configures this server.",
    "WWW-Authenticate",
  ),
  "403": errorAnswer(
    "Billing or the entitlement `api_access` is missing, or the request came from a browser page of a foreign Origin.",
    -32_001,
    "The plan of this workspace does not include api_access.",
  ),
  "404": errorAnswer(
    "An unknown method in revision 2026-07-28.",
    -32_601,
    "Unknown method; this server has server/discover, tools/list and tools/call.",
    ...QUOTA,
  ),
  "405": {
    description: "Any method but POST, such as the GET of a client that looks for an event stream.",
    headers: headerReferences("Allow"),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        example: { error: { code: "invalid_request", message: "This path allows POST only." } },
      },
    },
  },
  "408": errorAnswer(
    "The body did not arrive within 10 seconds.",
    -32_600,
    "The request body took too long to arrive.",
    ...QUOTA,
  ),
  "413": errorAnswer("The body is larger than 64 KiB.", -32_600, "The request body is too large.", ...QUOTA),
  "415": errorAnswer(
    "The Content-Type is not application/json.",
    -32_600,
    "The Content-Type must be application/json.",
  ),
  "500": errorAnswer(
    "An unexpected failure before the caller was known; later ones are answers with isError.",
    -32_603,
    "Something went wrong on our side. Try again, and quote the X-Request-ID header if it happens again.",
    "Retry-After",
  ),
};

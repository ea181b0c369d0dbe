import { TOOLS } from "../contract/tools.ts";
import examples from "./openapi-examples.json" with { type: "json" };
import { headerReferences } from "./openapi-responses.ts";
import type { JsonMembers } from "./openapi-schemas.ts";

export const MCP_PATH = "/api/v1/mcp";

/** JSON-RPC messages, as the MCP endpoint takes and gives them. */
export const MCP_SCHEMAS: JsonMembers = {
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
export function describeMcp(): JsonMembers {
  return {
    operationId: "postMcp",
    tags: ["MCP"],
    summary: "Model Context Protocol",
    description: DESCRIPTION,
    security: [{ bearerAuth: [] }],
    parameters: [
      {
        name: "MCP-Protocol-Version",
        in: "header",
        description:
          "Protocol revision that initialize agreed on; without it the request is served as well. 2026-07-28 requires it.",
        schema: { type: "string", enum: ["2025-06-18", "2025-11-25", "2026-07-28"] },
        example: "2025-06-18",
      },
      {
        name: "Mcp-Method",
        in: "header",
        description: "The body's method. Required in revision 2026-07-28, not looked at before.",
        schema: { type: "string" },
        example: "tools/call",
      },
      {
        name: "Mcp-Name",
        in: "header",
        description:
          "The name of the tool that tools/call names. Required in revision 2026-07-28, not looked at before.",
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

const DESCRIPTION = [
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
  options: { hasQuota?: boolean; others?: string[] } = {},
): JsonMembers => ({
  description,
  headers: headerReferences({ hasQuota: options.hasQuota === true, others: options.others ?? [] }),
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
    headers: headerReferences({ hasQuota: true }),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/JsonRpcResponse" },
        example: examples.mcp.answer,
      },
    },
  },
  "202": {
    description: "A notification was taken; there is no body.",
    headers: headerReferences({ hasQuota: true }),
  },
  "400": errorAnswer(
    "Not JSON, not a JSON-RPC request, a batch, or an unknown MCP-Protocol-Version. In 2026-07-28 also a missing member of " +
      "_meta, and a header that differs from the body.",
    -32_600,
    "Send one JSON-RPC request, not a batch.",
    { hasQuota: true },
  ),
  "401": errorAnswer(
    "The token is missing, malformed, unknown, revoked or expired.",
    -32_001,
    "The token is not known. Set the header Authorization: Bearer <API_TOKEN> where the MCP client configures this server.",
    { others: ["WWW-Authenticate"] },
  ),
  "403": errorAnswer(
    "Billing or the entitlement `api_access` is missing, or a browser page of a foreign Origin asked.",
    -32_001,
    "The plan of this workspace does not include api_access.",
  ),
  "404": errorAnswer(
    "An unknown method in revision 2026-07-28.",
    -32_601,
    "Unknown method; this server has server/discover, tools/list and tools/call.",
    { hasQuota: true },
  ),
  "405": {
    description: "Any method but POST, such as the GET of a client that looks for an event stream.",
    headers: headerReferences({ hasQuota: false, others: ["Allow"] }),
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
    { hasQuota: true },
  ),
  "413": errorAnswer("The body is larger than 64 KiB.", -32_600, "The request body is too large.", {
    hasQuota: true,
  }),
  "415": errorAnswer(
    "The Content-Type is not application/json.",
    -32_600,
    "The Content-Type must be application/json.",
  ),
  "500": errorAnswer(
    "An unexpected failure before it was known who asks; later ones are answers with isError.",
    -32_603,
    "Something went wrong on our side. Try again, and quote the X-Request-ID header if it goes on.",
    { others: ["Retry-After"] },
  ),
};

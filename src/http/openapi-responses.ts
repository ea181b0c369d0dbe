import { pascalCase } from "../contract/endpoint.ts";
import { ERROR_STATUS } from "../contract/errors.ts";
import type { ErrorCode } from "../contract/errors.ts";
import { COMMON_HEADERS } from "./headers.ts";
import examples from "./openapi-examples.json" with { type: "json" };
import type { JsonMembers } from "./openapi-schemas.ts";

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
export const HEADERS: Readonly<Record<string, JsonMembers>> = {
  "Cache-Control": fixed("Cache-Control", "No copy may be kept."),
  "CDN-Cache-Control": fixed("CDN-Cache-Control", "No copy may be kept by a CDN."),
  "Edge-CDN-Cache-Control": fixed("Edge-CDN-Cache-Control", "The same under a name that CDN vendors vary."),
  "Cloudflare-CDN-Cache-Control": fixed(
    "Cloudflare-CDN-Cache-Control",
    "The same under a vendor's own name.",
  ),
  "Vercel-CDN-Cache-Control": fixed("Vercel-CDN-Cache-Control", "The same under a vendor's own name."),
  "X-Content-Type-Options": fixed("X-Content-Type-Options", "The Content-Type is meant as it is given."),
  "X-Returns-API-Version": fixed("X-Returns-API-Version", "Version of the contract."),
  "X-Request-ID": {
    ...text(
      "The X-Request-ID of the request, if it is 1 to 128 of the characters A–Z a–z 0–9 . _ : -, else a new one.",
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
    description: "Seconds to wait before another try.",
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
      "File name with the selection and the months.",
      'attachment; filename="returns-report_workspace_2026-01_2026-05.csv"',
    ),
    required: true,
  },
  Allow: { ...text("The methods that the path allows.", "POST"), required: true },
};

const COMMON = [...Object.keys(COMMON_HEADERS), "X-Request-ID"];
const QUOTA = Object.keys(HEADERS).filter((name) => name.startsWith("X-RateLimit-"));

/** References to the headers of an answer: common ones, those of the quota where they are sent, and others. */
export function headerReferences(options: { hasQuota: boolean; others?: readonly string[] }): JsonMembers {
  const names = [...COMMON, ...(options.hasQuota ? QUOTA : []), ...(options.others ?? [])];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The body of every refusal. */
export const ERROR_SCHEMA: JsonMembers = {
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
const REFUSALS: readonly { code: ErrorCode; when: string; hasQuota: boolean; others?: string[] }[] = [
  {
    code: "unauthorized",
    when: "the token is missing, malformed, unknown, revoked or expired. Not counted.",
    hasQuota: false,
    others: ["WWW-Authenticate"],
  },
  {
    code: "forbidden",
    when: "billing is not active, the plan lacks an entitlement, or the token lacks the scope. Not counted.",
    hasQuota: false,
  },
  {
    code: "not_ready",
    when: "the shop is installing, reconnecting, backfilling or going to be erased; retry after the next sync. Not counted.",
    hasQuota: true,
  },
  {
    code: "rate_limited",
    when: "the plan's daily quota is used up, or too many requests of the workspace are being answered. Not counted.",
    hasQuota: true,
    others: ["Retry-After"],
  },
  {
    code: "invalid_request",
    when: "the message names the parameter and what is allowed. Counted.",
    hasQuota: true,
  },
  {
    code: "internal_error",
    when: "an unexpected failure; quote X-Request-ID. The rate-limit headers are absent when it came before the plan was known.",
    hasQuota: true,
    others: ["Retry-After"],
  },
];

/** Real bodies, by status. */
const BODIES: Readonly<Record<string, unknown>> = examples.errors;

/** The shared refusals as components. */
export function errorResponses(): JsonMembers {
  return Object.fromEntries(
    REFUSALS.map(({ code, when, hasQuota, others = [] }) => [
      pascalCase(code),
      {
        description: `\`${code}\`: ${when}`,
        headers: headerReferences({ hasQuota, others }),
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
export function errorReferences(): JsonMembers {
  return Object.fromEntries(
    REFUSALS.map(({ code }) => [
      String(ERROR_STATUS[code]),
      { $ref: `#/components/responses/${pascalCase(code)}` },
    ]),
  );
}

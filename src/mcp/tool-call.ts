import type { Operation } from "../access/operation.ts";
import { takesSelector } from "../contract/endpoint.ts";
import { ApiError, INTERNAL_ERROR_MESSAGE, errorBody } from "../contract/errors.ts";
import type { ErrorBody, ErrorCode, QuotaState } from "../contract/errors.ts";
import type { RawInput } from "../contract/input.ts";
import { SELECTOR_SHAPES } from "../contract/tools.ts";
import { MCP_WORDS } from "../contract/errors.ts";
import { jsonText } from "../contract/wire.ts";
import { isObject } from "./message.ts";
import type { JsonObject } from "./message.ts";

/** A tool's answer, and what its refusal or failure leaves to the HTTP answer and the log. */
export type ToolAnswer = {
  text: string;
  /** null = it was answered as asked. */
  errorCode: ErrorCode | null;
  /** Of a refusal; `onAdmitted` receives the quota of an answer. */
  refusedQuota: QuotaState | null;
  /** An unexpected failure, for the log. */
  failure: unknown;
};

/**
 * Runs the endpoint that a tool wraps. Its refusals become answers that an agent can read and repair. Throws what
 * concerns the caller rather than the call: no valid token, billing or entitlement, a failure before it was known who
 * asks.
 */
export async function callTool(
  operation: Operation,
  call: { authorization: string | undefined; values: JsonObject },
  onAdmitted: (quota: QuotaState | null, tokenId: string) => void,
): Promise<ToolAnswer> {
  let isAdmitted = false;
  try {
    const answer = await operation.perform(
      {
        authorization: call.authorization,
        words: MCP_WORDS,
        parameters: () => readArguments(operation, call.values),
      },
      (quota, tokenId) => {
        isAdmitted = true;
        onAdmitted(quota, tokenId);
      },
    );
    if (answer.kind !== "json") throw new Error("A tool must wrap an endpoint that answers JSON.");
    return { text: answer.text, errorCode: null, refusedQuota: null, failure: null };
  } catch (error) {
    const body = refusalOf(error, isAdmitted);
    if (body === null) throw error;
    const isApiError = error instanceof ApiError;
    return {
      text: jsonText(body),
      errorCode: body.error.code,
      refusedQuota: isApiError ? error.quota : null,
      failure: isApiError ? null : error,
    };
  }
}

/** The JSON of a tools/call result; the text inside is the REST body, byte for byte. */
export function toolResultText({ text, errorCode }: ToolAnswer): string {
  return `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":${errorCode !== null}}`;
}

function refusalOf(error: unknown, isAdmitted: boolean): ErrorBody | null {
  if (!(error instanceof ApiError)) {
    return isAdmitted ? errorBody("internal_error", INTERNAL_ERROR_MESSAGE) : null;
  }
  const concernsCaller =
    error.code === "unauthorized" || (error.code === "forbidden" && error.missingScope === null);
  return concernsCaller ? null : errorBody(error.code, error.messageIn(MCP_WORDS));
}

function readArguments({ endpoint }: Operation, given: JsonObject): RawInput {
  const values = new Map<string, unknown>(Object.entries(given));
  const refusals = new Map<string, string>();
  // Every tool with a selector takes the object, listed or not: a client may have passed a row on as it came.
  if (takesSelector(endpoint)) addSelector(values, refusals);
  return { values, refusals };
}

const SELECTOR_ALLOWED =
  "selector must be the selector object of a list_entities row: {sku}, {product_gid}, or {product_group_type, product_group_key}.";
/** A breakdown row's selector may be a vendor, or narrow another one to it. */
const SHAPES = [...SELECTOR_SHAPES, ["vendor"]];
const SELECTOR_NAMES = new Set([...SHAPES.flat(), "include_used_variants"]);
const LONGEST_SELECTOR_TEXT = 4096;

/** Spreads the selector object over the flat arguments; what both say must agree. */
function addSelector(values: Map<string, unknown>, refusals: Map<string, string>): void {
  const selector = selectorObject(values.get("selector"));
  if (!isGiven(selector)) return;
  const members = isObject(selector) ? selector : {};
  const isKnown = Object.keys(members).every((name) => SELECTOR_NAMES.has(name));
  if (!isKnown || !SHAPES.some((names) => names.every((name) => isGiven(members[name])))) {
    refusals.set("selector", SELECTOR_ALLOWED);
    return;
  }
  for (const name of SELECTOR_NAMES) {
    const member = members[name];
    if (!isGiven(member)) continue;
    const flat = values.get(name);
    if (isGiven(flat) && flat !== member) {
      refusals.set("selector", `selector and ${name} contradict each other: give one of them.`);
    }
    values.set(name, member);
  }
}

/** Some clients write an object out as JSON text. */
function selectorObject(selector: unknown): unknown {
  if (typeof selector !== "string" || selector.length > LONGEST_SELECTOR_TEXT) return selector;
  try {
    const parsed: unknown = JSON.parse(selector);
    return isObject(parsed) ? parsed : selector;
  } catch {
    return selector;
  }
}

/** null and "" count as not given, as everywhere. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

import type { Operation, RawParameters } from "../admission/operation.ts";
import { ApiError, INTERNAL_ERROR_MESSAGE, errorBody, invalidRequest } from "../contract/errors.ts";
import type { ErrorBody, QuotaState } from "../contract/errors.ts";
import { SELECTOR_SHAPES } from "../contract/tools.ts";
import { jsonText } from "../contract/wire.ts";
import { isObject } from "./message.ts";
import type { JsonObject } from "./message.ts";

/** A tool's answer, and what its refusal or failure leaves to the HTTP answer and the log. */
export type ToolAnswer = {
  text: string;
  isError: boolean;
  /** Of a refusal; an answer's own quota is heard by `onAdmitted`. */
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
      { authorization: call.authorization, parameters: () => readArguments(operation, call.values) },
      (quota, tokenId) => {
        isAdmitted = true;
        onAdmitted(quota, tokenId);
      },
    );
    if (answer.kind !== "json") throw new Error("A tool must wrap an endpoint that answers JSON.");
    return { text: answer.text, isError: false, refusedQuota: null, failure: null };
  } catch (error) {
    const body = refusalOf(error, isAdmitted);
    if (body === null) throw error;
    const isApiError = error instanceof ApiError;
    return {
      text: jsonText(body),
      isError: true,
      refusedQuota: isApiError ? error.quota : null,
      failure: isApiError ? null : error,
    };
  }
}

/** The JSON of a tools/call result; the text inside is the REST body, byte for byte. */
export function toolResultText({ text, isError }: ToolAnswer): string {
  return `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":${isError}}`;
}

function refusalOf(error: unknown, isAdmitted: boolean): ErrorBody | null {
  if (!(error instanceof ApiError)) {
    return isAdmitted ? errorBody("internal_error", INTERNAL_ERROR_MESSAGE) : null;
  }
  const concernsCaller =
    error.code === "unauthorized" || (error.code === "forbidden" && error.missingScope === null);
  return concernsCaller ? null : errorBody(error.code, error.message);
}

function readArguments({ endpoint }: Operation, given: JsonObject): RawParameters {
  const values = new Map<string, unknown>();
  // Only what the endpoint knows: ten thousand unknown arguments cost nothing.
  for (const name of Object.keys(endpoint.parameters.properties)) {
    if (Object.hasOwn(given, name)) values.set(name, given[name]);
  }
  // Every tool with a selector takes the object, listed or not: ignoring it would answer for the whole store.
  if ("sku" in endpoint.parameters.properties && Object.hasOwn(given, "selector")) {
    addSelector(values, given["selector"]);
  }
  return { values, repeated: NONE, malformed: NONE };
}

const NONE: ReadonlySet<string> = new Set();

/** Spreads the selector object over the flat arguments; what both say must agree. */
function addSelector(values: Map<string, unknown>, selector: unknown): void {
  if (!isGiven(selector)) return;
  const members = isObject(selector) ? selector : {};
  const shape = SELECTOR_SHAPES.find((names) => names.every((name) => isGiven(members[name])));
  if (shape === undefined) {
    throw invalidRequest(
      "selector must be the selector object of a list_entities row: {sku}, {product_gid}, or {product_group_type, product_group_key}.",
    );
  }
  for (const name of SELECTOR_SHAPES.flat()) {
    const member = members[name];
    if (!isGiven(member)) continue;
    const flat = values.get(name);
    if (isGiven(flat) && flat !== member) {
      throw invalidRequest(`selector and ${name} contradict each other: give one of them.`);
    }
    values.set(name, member);
  }
}

/** null and "" count as not given, as everywhere. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

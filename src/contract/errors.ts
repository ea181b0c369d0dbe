import type { Endpoint } from "./endpoint.ts";

/** The closed list of error codes with their HTTP statuses. */
export const ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  not_ready: 409,
  rate_limited: 429,
  internal_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** The body of every error answer. */
export type ErrorBody = { error: { code: ErrorCode; message: string } };

/** The quota of a workspace with a finite plan on the current UTC day. */
export type QuotaState = { limit: number; used: number; resetsAt: Date };

/** A sentence of an `invalid_request`, and the parameter that it is about; null = several, or none. */
export type ParameterProblem = { name: string | null; sentence: string };

/**
 * A refusal with one clear sentence for the caller. Any other thrown error becomes a plain 500. `message` uses REST's vocabulary;
 * one answer may serve several requests, so each surface requests its own wording.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly quota: QuotaState | null;
  readonly retryAfterSeconds: number | null;
  /** The scope that a valid token of an entitled workspace lacks; null = refused for another reason. */
  readonly missingScope: string | null;
  /** For an `invalid_request`: the problem of each parameter, in REST's vocabulary and the order of the message. */
  readonly problems: readonly ParameterProblem[];
  readonly #wording: Wording;

  constructor(
    code: ErrorCode,
    wording: string | Wording,
    detail: {
      quota?: QuotaState | null;
      retryAfterSeconds?: number;
      missingScope?: string | null;
      problems?: readonly ParameterProblem[];
    } = {},
  ) {
    const say: Wording = typeof wording === "string" ? () => wording : wording;
    super(say(REST_WORDS));
    this.#wording = say;
    this.name = "ApiError";
    this.code = code;
    this.quota = detail.quota ?? null;
    this.retryAfterSeconds = detail.retryAfterSeconds ?? null;
    this.missingScope = detail.missingScope ?? null;
    this.problems = detail.problems ?? [];
  }

  /** The message in the words of a surface. */
  messageIn(words: Vocabulary): string {
    return this.#wording(words);
  }
}

/** A 400 that names the parameter and the allowed values; `name`: the parameter, null: several or none. */
export function invalidRequest(wording: string | Wording, name: string | null = null): ApiError {
  const sentence = typeof wording === "string" ? wording : wording(REST_WORDS);
  return new ApiError("invalid_request", wording, { problems: [{ name, sentence }] });
}

/** A 400 for all that is wrong, a sentence for each. */
export function invalidParameters(problems: readonly ParameterProblem[]): ApiError {
  return new ApiError("invalid_request", problems.map(({ sentence }) => sentence).join(" "), { problems });
}

export const INTERNAL_ERROR_MESSAGE =
  "Something went wrong on our side. Try again, and quote the X-Request-ID header if it happens again.";

/** The wire form of an error. */
export function errorBody(code: ErrorCode, message: string): ErrorBody {
  return { error: { code, message } };
}

/** How a surface speaks of the contract. */
export type Vocabulary = {
  surface: "rest" | "mcp";
  /** The word for an endpoint. */
  endpointKind: string;
  /** The word for the names in a request. */
  inputKind: string;
  /** An endpoint's name; null: the surface does not have it. */
  nameOf: (endpoint: Endpoint) => string | null;
};

export const REST_WORDS: Vocabulary = {
  surface: "rest",
  endpointKind: "endpoint",
  inputKind: "a parameter",
  nameOf: ({ path }) => path,
};

export const MCP_WORDS: Vocabulary = {
  surface: "mcp",
  endpointKind: "tool",
  inputKind: "an argument",
  nameOf: ({ tool }) => tool?.name ?? null,
};

/** A sentence that names parts of the contract, in the surface's vocabulary. */
type Wording = (words: Vocabulary) => string;

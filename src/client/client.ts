import { ENDPOINTS } from "./generated/endpoints.ts";
import type { EndpointMethods } from "./generated/methods.ts";
import { iteratePages } from "./pages.ts";
import { request } from "./request.ts";
import type { ServiceConnection, EndpointFacts, Parameters } from "./request.ts";
import type { RequestOptions, Result } from "./result.ts";

export interface ClientOptions {
  /** Where the service lies, such as `https://returns.example`: what comes before `/api/v1`. */
  baseUrl: string;
  /** The access token, or a function that gives the present one; it is asked for every request. */
  token: string | (() => string | Promise<string>);
  /** Sends the token unencrypted to an `http:` address of another machine too, such as inside a cluster. Default: false. */
  allowPlainHttp?: boolean | undefined;
  /** Instead of the platform's own `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** For each try, from the request to the end of a JSON answer; for an export, the wait for each piece. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** Tries after the first one. Each may count against the daily quota. Default: 2. */
  maxRetries?: number | undefined;
  /** The longest pause between two tries; when the service asks for a longer one, its error is thrown at once. Default: 20,000. */
  maxRetryWaitMs?: number | undefined;
  /** The first pause is random up to this; each further one up to twice as much as the one before. Default: 500. */
  retryBaseMs?: number | undefined;
}

/** A client of one workspace: the one that the token belongs to. */
export type ReturnsClient = EndpointMethods;

/** Makes a client; no request is sent yet. Throws `TypeError` for options that cannot be right. */
export function createClient(options: ClientOptions): ReturnsClient {
  const connection = connectionOf(options);
  const methods: Record<string, unknown> = {};
  for (const [name, endpoint] of Object.entries<EndpointFacts>(ENDPOINTS)) {
    const method = (parameters: Parameters = {}, requestOptions: RequestOptions = {}) =>
      request(connection, endpoint, parameters, requestOptions);
    methods[name] = method;
    if (endpoint.isPaged) methods[`iterate${name.charAt(0).toUpperCase()}${name.slice(1)}`] = rowsOf(method);
  }
  // The interface is made from the same contract as ENDPOINTS.
  return methods as unknown as ReturnsClient;
}

/** Turns a method that answers pages into one that gives their rows. */
function rowsOf(method: (parameters: Parameters, options?: RequestOptions) => Promise<unknown>) {
  return async function* iterate(parameters: Parameters = {}, options?: RequestOptions) {
    const pages = method as (
      parameters: Parameters,
      options?: RequestOptions,
    ) => Promise<Result<unknown[], { next_cursor: string | null }>>;
    for await (const page of iteratePages(pages, parameters, options)) yield* page.data;
  };
}

function connectionOf(options: ClientOptions): ServiceConnection {
  const { token, fetch = (url, init) => globalThis.fetch(url, init) } = options;
  if (typeof token !== "function") checkToken(token);
  return {
    baseUrl: baseUrlOf(options.baseUrl, options.allowPlainHttp === true),
    token: async () => (typeof token === "function" ? checkToken(await token()) : token),
    fetch,
    timeoutMs: numberOf("timeoutMs", options.timeoutMs ?? 30_000, 1),
    maxRetries: numberOf("maxRetries", options.maxRetries ?? 2, 0),
    maxRetryWaitMs: numberOf("maxRetryWaitMs", options.maxRetryWaitMs ?? 20_000, 0),
    retryBaseMs: numberOf("retryBaseMs", options.retryBaseMs ?? 500, 0),
  };
}

const LOOPBACK = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/u;

function baseUrlOf(text: string, allowPlainHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !["http:", "https:"].includes(url.protocol) ||
    url.username !== "" ||
    url.search !== ""
  ) {
    throw new TypeError("baseUrl must be an address such as https://returns.example, without user or query.");
  }
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname) && !allowPlainHttp) {
    throw new TypeError(
      "baseUrl must begin with https://: the token would travel readable to another machine (allowPlainHttp sends it all the same).",
    );
  }
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/u, "");
}

/** A header's error would print the token, so it is looked at before. */
function checkToken(token: unknown): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/u.test(token)) return token;
  throw new TypeError("token must be text without blanks or line ends.");
}

const LONGEST_TIMER_MS = 2_147_483_647;

function numberOf(name: string, value: number, minimum: number): number {
  if (value >= minimum && value <= LONGEST_TIMER_MS) return value;
  throw new TypeError(`${name} must be a number of at least ${minimum}.`);
}

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { pipeline, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AddressRefused, guardedLookup, isAllowed, resolveByDns } from "../../../lib/guarded-lookup.ts";
import { blockListOf, isLoopbackHost } from "../../../lib/networks.ts";
import { parsedJson } from "../../../lib/parsed-json.ts";
import { readAtMost } from "../../../lib/read-at-most.ts";
import { note, noteFailure, traced, type SpanOptions } from "../../../lib/trace.ts";
import { VERSION } from "../../../lib/version.ts";
import { SourceFailed, SourceRefused } from "../../connector.ts";

/** How a client waits, and how often it sends a request again. */
export type RetryPolicy = {
  /** Attempts per request, including the first. */
  tries: number;
  /** Before the second attempt; it doubles with each further one, up to `maxDelayMs`, and is shortened at random by up to half. */
  firstDelayMs: number;
  maxDelayMs: number;
  /** How long one answer may take; null = no limit, for a long body. */
  timeoutMs: number | null;
  /** How often a source may request a pause, which does not count as an attempt, and the longest pause. */
  slowdowns: number;
  maxSlowdownMs: number;
  /** A longer answer is a failure: as objects it takes up to 40 times its size, in a process that all workspaces share. */
  maxAnswerBytes: number;
};

const MEGABYTE = 1024 * 1024;

export const RETRY_POLICY: RetryPolicy = {
  tries: 8,
  firstDelayMs: 500,
  maxDelayMs: 30_000,
  timeoutMs: 60_000,
  slowdowns: 20,
  maxSlowdownMs: 120_000,
  maxAnswerBytes: 64 * MEGABYTE,
};

/** For a few requests while somebody waits. */
export const CHECK_POLICY: RetryPolicy = {
  ...RETRY_POLICY,
  tries: 3,
  slowdowns: 1,
  timeoutMs: 10_000,
  maxSlowdownMs: 10_000,
  maxAnswerBytes: 2 * MEGABYTE,
};

/** A source called over HTTP. */
export type HttpSource = {
  /** Its display name: "ShipStation". */
  title: string;
  /** Where it is, for sentences about a source that each customer has at another address. */
  address?: string;
  /** Whether its address comes from outside: then only public addresses are connected to. */
  isForeign?: boolean;
  signal: AbortSignal;
  retryPolicy: RetryPolicy;
};

type HttpRequest = {
  url: URL | string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
};

export type HttpAnswer<Body> = { status: number; headers: Headers; body: Body };

/** The result of an answer. `again`: why a retry may help, with the pause the source requests (null: none). */
export type Outcome<Value> = { value: Value } | Again;
type Again = { again: string; delayMs: number | null };

/**
 * Sends a request until `read` makes a value of an answer. Failures that a retry may fix (5xx, 408, cut connections,
 * silence, what `read` names) are sent again after a growing delay, 429 after the pause it names. `prepare` runs before
 * each try. Throws `SourceFailed` when the retry policy is used up, what `read` throws, and the signal's reason.
 */
export async function ask<Value>(
  source: HttpSource,
  prepare: () => Promise<HttpRequest> | HttpRequest,
  read: (answer: HttpAnswer<string>) => Promise<Outcome<Value>> | Outcome<Value>,
): Promise<Value> {
  return retry(source, async (resends) => {
    const request = await prepare();
    const answer = await send(source, { request, resends }, (response) => readText(source, response));
    return "again" in answer ? answer : read(answer);
  });
}

/** The body of a 200, unread. `refuse` makes the error of a 4xx. Throws as `ask`. */
export async function download(
  source: HttpSource,
  url: URL,
  refuse: (status: number) => Error,
): Promise<ReadableStream<Uint8Array>> {
  return retry(source, async (resends) => {
    const answer = await send(source, { request: { url }, resends }, async (response) => response.body);
    if ("again" in answer) return answer;
    if (answer.status === 200 && answer.body !== null) return { value: answer.body };
    await answer.body?.cancel();
    if (answer.status >= 400) throw refuse(answer.status);
    return { again: `status ${answer.status}`, delayMs: null };
  });
}

async function retry<Value>(
  source: HttpSource,
  attempt: (resends: number) => Promise<Outcome<Value>>,
): Promise<Value> {
  const { retryPolicy, signal, title, address } = source;
  let slowdowns = 0;
  for (let tries = 1; ;) {
    signal.throwIfAborted();
    const outcome = await attempt(tries - 1 + slowdowns);
    signal.throwIfAborted();
    if ("value" in outcome) return outcome.value;
    if (outcome.delayMs !== null && slowdowns < retryPolicy.slowdowns) {
      slowdowns += 1;
      await pause(Math.min(outcome.delayMs, retryPolicy.maxSlowdownMs), signal);
      continue;
    }
    if (tries >= retryPolicy.tries) {
      const where = address === undefined ? title : `${title} at ${address}`;
      const often = tries === 1 ? ":" : ` in ${tries} tries, the last one:`;
      throw new SourceFailed(`${where} did not answer${often} ${outcome.again}.`);
    }
    const delayMs = Math.min(retryPolicy.maxDelayMs, retryPolicy.firstDelayMs * 2 ** (tries - 1));
    await pause(delayMs * (1 - Math.random() / 2), signal);
    tries += 1;
  }
}

/** `resends`: how often it was sent before. */
type Sending = { request: HttpRequest; resends: number };

async function send<Body>(
  source: HttpSource,
  sending: Sending,
  receive: (response: Response) => Promise<Body>,
): Promise<HttpAnswer<Body> | Again> {
  return traced(spanOf(source, sending), async () => {
    const answer = await sendOnce(source, sending.request, receive);
    if ("again" in answer) noteFailure(answer.again.replaceAll(" ", "_"));
    else if (answer.status >= 400) noteFailure(String(answer.status));
    return answer;
  });
}

/** The host of a source that each customer has at another address names the customer: only its end is shown. */
function spanOf({ address }: HttpSource, { request, resends }: Sending): SpanOptions {
  const { url, method = "GET" } = request;
  const { hostname } = new URL(url);
  const isShown = address === undefined || isLoopbackHost(hostname);
  return {
    name: method,
    kind: "client",
    attributes: {
      "http.request.method": method,
      "server.address": isShown ? hostname : `*.${hostname.split(".").slice(-2).join(".")}`,
      ...(resends === 0 ? {} : { "http.request.resend_count": resends }),
    },
  };
}

/** Cloudflare refuses requests without a name by default (its Browser Integrity Check), and so do other firewalls of shops. */
const USER_AGENT = `returns-analytics/${VERSION}`;

async function sendOnce<Body>(
  { signal, retryPolicy: { timeoutMs }, isForeign = false }: HttpSource,
  { url, ...request }: HttpRequest,
  receive: (response: Response) => Promise<Body>,
): Promise<HttpAnswer<Body> | Again> {
  const timeout = timeoutMs === null ? signal : AbortSignal.timeout(timeoutMs);
  let isAnswering = false;
  try {
    const reach = isForeign && !isLoopbackHost(new URL(url).hostname) ? fetchPublic : fetch;
    // A redirect would send the key to its target.
    const response = await reach(url, {
      ...request,
      headers: { "user-agent": USER_AGENT, ...request.headers },
      redirect: "manual",
      signal: AbortSignal.any([signal, timeout]),
    });
    isAnswering = true;
    const { status, headers } = response;
    note({ "http.response.status_code": status });
    if (status !== 429 && status !== 408 && status < 500)
      return { status, headers, body: await receive(response) };
    await response.body?.cancel();
    return { again: `status ${status}`, delayMs: status === 429 ? retryAfterMs(response) : null };
  } catch (error) {
    if (error instanceof SourceFailed) throw error;
    if (error instanceof AddressRefused) {
      throw new SourceFailed(`${new URL(url).host} is not at a public address, so no request is sent to it.`);
    }
    const cut = isAnswering ? "the connection broke off" : "no connection";
    return { again: timeout.aborted ? "no answer in time" : cut, delayMs: null };
  }
}

/** As `fetch`, over https and a separate connection, only to public addresses. */
async function fetchPublic(url: URL | string, init: RequestInit): Promise<Response> {
  const route = { protocol: "https:", allowed: blockListOf([]) };
  const { hostname } = new URL(url);
  const literal = hostname.replaceAll(/^\[|\]$/gu, "");
  // A literal address is not looked up.
  if (isIP(literal) !== 0 && !isAllowed(literal, route)) throw new AddressRefused(hostname);
  const { method = "GET", headers, body, signal } = init;
  const request = requestHttps(url, {
    method,
    agent: false,
    lookup: guardedLookup(resolveByDns, route),
    headers: { "accept-encoding": [...DECODERS.keys()].join(", "), ...(headers as Record<string, string>) },
    ...(signal ? { signal } : {}),
  });
  request.end(typeof body === "string" ? body : undefined);
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  // A failure from here on reaches the reader of the body.
  request.on("error", () => {});
  const status = answer.statusCode ?? 0;
  const hasBody = status !== 204 && status !== 304;
  if (!hasBody) answer.resume();
  return new Response(hasBody ? bodyOf(answer) : null, {
    status,
    headers: Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    ),
  });
}

const DECODERS = new Map([
  ["gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** The body of an answer, unpacked: some servers pack it whether they are asked to or not (woocommerce/wc-api-php issue 165). */
export function bodyOf(answer: IncomingMessage): ReadableStream<Uint8Array> {
  const decoder = DECODERS.get(answer.headers["content-encoding"]?.toLowerCase() ?? "");
  const body = decoder === undefined ? answer : pipeline(answer, decoder(), () => {});
  return Readable.toWeb(body) as ReadableStream<Uint8Array>;
}

/** Retry-After is seconds or a date; null = there is none. */
function retryAfterMs(response: Response): number | null {
  const text = response.headers.get("retry-after") ?? "";
  if (/^\d+(?:\.\d+)?$/u.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

/** An answer is longer than the retry policy allows: request less at once. */
export class AnswerTooLarge extends SourceFailed {}

async function readText(
  { title, retryPolicy: { maxAnswerBytes } }: HttpSource,
  response: Response,
): Promise<string> {
  if (response.body === null) return "";
  const bytes = await readAtMost(response.body, maxAnswerBytes);
  if (bytes === null) throw new AnswerTooLarge(`A response from ${title} is larger than the limit.`);
  return bytes.toString("utf8");
}

/**
 * The JSON of an answer; truncated or garbled answers are requested again. A file of a WordPress plugin that begins with a byte order
 * mark puts one before every answer (woocommerce/wc-api-python issue 40).
 */
export function readJson(body: string): Outcome<unknown> {
  const value = parsedJson(body.trimStart());
  return value === undefined ? { again: "the answer was not complete JSON", delayMs: null } : { value };
}

export function isWebPage(body: string): boolean {
  return body.trimStart().startsWith("<");
}

/** Whether a firewall before the API has refused a request, which may be temporary, instead of the API itself. */
export function isBlocked({ status, body }: Pick<HttpAnswer<string>, "status" | "body">): boolean {
  return status === 403 && isWebPage(body);
}

export const BLOCKED: Again = { again: "a web page refused the request (status 403)", delayMs: null };

/** Throws the signal's reason as soon as it aborts. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await sleep(durationMs, undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}

/** Whether keys may be sent to an address: over https to a source's own host, else only to this machine. */
export function isOwnUrl(url: URL, isOwnHost: (host: string) => boolean): boolean {
  if (url.username !== "") return false;
  if (isLoopbackHost(url.hostname)) return /^https?:$/u.test(url.protocol);
  return url.protocol === "https:" && url.port === "" && isOwnHost(url.hostname);
}

/** A JSON source with an API key. */
export type JsonSource = HttpSource & {
  /** Where its API keys are made: "Settings → API Settings". */
  keyPlace: string;
  /** Where its API begins; the headers are sent nowhere else. */
  baseUrl: URL;
  /** Those that carry the key. */
  headers: Record<string, string>;
};

/**
 * GETs JSON. Throws as `ask`, `SourceRefused` for 401 and 403, and `SourceFailed` for everything else that is no JSON of
 * a 200.
 */
export async function getJson(source: JsonSource, url: URL): Promise<unknown> {
  const { title, keyPlace } = source;
  const headers = { ...source.headers, accept: "application/json" };
  return ask(
    source,
    () => ({ url, headers }),
    ({ status, body }) => {
      if (isBlocked({ status, body })) return BLOCKED;
      if (status === 401 || status === 403) {
        throw new SourceRefused(
          `${title} does not accept this API key (status ${status}): check it under ${keyPlace}, and connect it again.`,
        );
      }
      if (status === 200) return readJson(body);
      if (status === 404) throw new SourceFailed(`${title} answered with status 404: check its address.`);
      throw new SourceFailed(`${title} answered with status ${status} where 200 was expected.`);
    },
  );
}

/** The API's root of a setting, with a slash at its end. Only the host of `address`, or this machine, is taken. */
export function readBaseUrl(setting: unknown, address: string, title: string): URL {
  const text = setting ?? address;
  const url = typeof text === "string" ? URL.parse(text) : null;
  const ownHost = new URL(address).hostname;
  if (url === null || !isOwnUrl(url, (host) => host === ownHost)) {
    throw new SourceFailed(
      `The address of ${title} has to be ${address} (another only on this machine itself).`,
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** A key as a header value. Throws `SourceRefused` if there is none. */
export function readApiKey(secret: string | undefined, title: string): string {
  const key = secret?.trim() ?? "";
  if (key === "") throw new SourceRefused(`${title} has no API key: connect it again.`);
  if (!/^[\u0021-\u007e]+$/u.test(key)) {
    throw new SourceRefused(`The API key of ${title} contains invalid characters: connect it again.`);
  }
  return key;
}

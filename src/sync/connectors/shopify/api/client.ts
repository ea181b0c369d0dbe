import { SourceFailed, SourceRefused } from "../../../connector.ts";
import { readText } from "../../kit/source-answer.ts";
import { openBudget } from "./budget.ts";
import type { Budget } from "./budget.ts";
import type { Document } from "./documents.ts";
import { isFileUrl } from "./hosts.ts";
import { isObject } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { delayBefore, pause } from "../../kit/pacing.ts";
import type { Pacing } from "../../kit/pacing.ts";

export const API_VERSION = "2026-10";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Where access tokens come from; both throw SourceRefused when there is none to be had. */
export type TokenSource = {
  accessToken(): Promise<string>;
  /** A token that is not `staleToken`, which the platform has refused. */
  refreshed(staleToken: string): Promise<string>;
};

export type ShopifyClient = {
  /**
   * Asks, and waits and asks again where that helps. Throws CostExceeded for a request that is too large, SourceRefused
   * when the token is not taken, SourceFailed for anything else, and the signal's reason once it aborts.
   */
  query(document: Document, variables: Record<string, unknown>): Promise<Json>;
  /** The lines of a bulk operation's result, which needs no token. */
  download(url: string): Promise<ReadableStream<Uint8Array>>;
  signal: AbortSignal;
  pacing: Pacing;
};

export type ClientOptions = { url: string; tokens: TokenSource; signal: AbortSignal; pacing: Pacing };

/** One request asks for more than the platform prices any request at: ask for less at once. */
export class CostExceeded extends Error {
  override name = "CostExceeded";
}

/** The file of a bulk operation is not there any more. */
export class DownloadGone extends Error {
  override name = "DownloadGone";
}

/** The next try may succeed; `delayMs` null = the usual delay, and it counts as a try. */
type Again = { again: true; why: string; delayMs: number | null };

export function openClient(options: ClientOptions): ShopifyClient {
  const { signal, pacing } = options;
  const budget = openBudget();
  return {
    signal,
    pacing,
    query: (document, variables) => queryPatiently({ ...options, budget }, document, variables),
    download: (url) => download(options, url),
  };
}

type Asking = ClientOptions & { budget: Budget };

/** A throttled request costs nothing and is bound to get through, but not for ever. */
const MAX_THROTTLED = 1000;

async function queryPatiently(
  asking: Asking,
  document: Document,
  variables: Record<string, unknown>,
): Promise<Json> {
  const { budget, pacing, signal } = asking;
  const tokens = openTokens(asking.tokens);
  let throttled = 0;
  for (let attempt = 1; ;) {
    const waitMs = budget.waitMs(document.name, performance.now());
    if (waitMs > 0) await pause(waitMs, signal);
    budget.spend(document.name);
    const result = await ask(asking, tokens, document, variables);
    if (!("again" in result)) return result.data;
    if (result.delayMs === null) attempt += 1;
    else throttled += 1;
    if (attempt > pacing.attempts || throttled > MAX_THROTTLED) throw new SourceFailed(result.why);
    await pause(result.delayMs ?? delayBefore(attempt, pacing), signal);
  }
}

/** The token of one request: refreshed once when the platform does not take it. */
type RequestTokens = { current(): Promise<string>; refresh(): Promise<boolean> };

function openTokens(source: TokenSource): RequestTokens {
  let token: string | null = null;
  let isRefreshed = false;
  return {
    current: async () => (token ??= await source.accessToken()),
    refresh: async () => {
      if (isRefreshed || token === null) return false;
      isRefreshed = true;
      token = await source.refreshed(token);
      return true;
    },
  };
}

async function ask(
  asking: Asking,
  tokens: RequestTokens,
  document: Document,
  variables: Record<string, unknown>,
): Promise<{ data: Json } | Again> {
  const token = await tokens.current();
  const answer = await post(asking, token, JSON.stringify({ query: document.text, variables }));
  if ("again" in answer) return answer;
  const { status, body } = answer;
  if (status === 401 || status === 403) {
    if (await tokens.refresh()) return { again: true, why: REFUSED, delayMs: 0 };
    throw new SourceRefused(REFUSED);
  }
  if (status === 429 || status >= 500) return { again: true, why: busyWith(status), delayMs: null };
  if (status !== 200) throw new SourceFailed(`Shopify answered ${document.name} with status ${status}.`);
  return readAnswer(asking.budget, document, body);
}

const REFUSED = "Shopify no longer takes the access token of this app: connect the shop again.";

function busyWith(status: number): string {
  return `Shopify did not answer as it should: status ${status}, again and again.`;
}

async function post(
  { url, signal, pacing }: Asking,
  token: string,
  body: string,
): Promise<{ status: number; body: string } | Again> {
  const timeout = AbortSignal.timeout(pacing.requestTimeoutMs);
  try {
    const response = await fetch(`${url}/admin/api/${API_VERSION}/graphql.json`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "x-shopify-access-token": token,
      },
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, timeout]),
    });
    return { status: response.status, body: await readText(response, "Shopify", MAX_ANSWER_BYTES) };
  } catch (error) {
    if (error instanceof SourceFailed) throw error;
    signal.throwIfAborted();
    const what = timeout.aborted ? "does not answer in time" : "cannot be reached";
    return { again: true, why: `Shopify ${what} at ${url}.`, delayMs: null };
  }
}

/** Status 200 carries errors too. */
function readAnswer(budget: Budget, document: Document, body: string): { data: Json } | Again {
  const answer = parseObject(body);
  if (answer === null) return { again: true, why: "Shopify's answer is no JSON object.", delayMs: null };
  budget.learn(document.name, answer["extensions"], performance.now());
  const errors = errorsOf(answer["errors"]);
  const codes = new Set(errors.map((error) => codeOf(error)));
  if (codes.has("THROTTLED")) {
    const why = "Shopify keeps throttling this app.";
    return { again: true, why, delayMs: budget.throttledMs(answer["extensions"]) };
  }
  if (codes.has("MAX_COST_EXCEEDED")) throw new CostExceeded(document.name);
  const said = errors.map((error) => messageOf(error)).join("; ");
  if (codes.has("INTERNAL_SERVER_ERROR"))
    return { again: true, why: `Shopify says: ${said}.`, delayMs: null };
  if (errors.length > 0) throw new SourceFailed(`Shopify refused ${document.name}: ${said}.`);
  if (!isObject(answer["data"])) throw new SourceFailed(`Shopify answered ${document.name} without data.`);
  return { data: answer["data"] };
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Usually a list; some refusals are an object of messages. */
function errorsOf(errors: unknown): unknown[] {
  if (errors === undefined || errors === null) return [];
  return Array.isArray(errors) ? errors : [errors];
}

function codeOf(error: unknown): unknown {
  const extensions = isObject(error) ? error["extensions"] : null;
  return isObject(extensions) ? extensions["code"] : null;
}

function messageOf(error: unknown): string {
  const message = isObject(error) ? error["message"] : error;
  return typeof message === "string" ? message.replace(/\.$/, "") : JSON.stringify(error);
}

/** A redirect is not followed: it would lead past the hosts that files are fetched from. */
async function download(
  { url: shopUrl, signal, pacing }: ClientOptions,
  url: string,
): Promise<ReadableStream<Uint8Array>> {
  const file = URL.parse(url);
  if (file === null || !isFileUrl(file, new URL(shopUrl))) {
    const host = file?.host ?? "no host";
    throw new SourceFailed(`Shopify named the file of a bulk operation on ${host}, which is not asked.`);
  }
  let why = "";
  for (let attempt = 1; attempt <= pacing.attempts; attempt += 1) {
    if (attempt > 1) await pause(delayBefore(attempt, pacing), signal);
    try {
      const response = await fetch(file, { redirect: "manual", signal });
      if (response.status === 200 && response.body !== null) return response.body;
      await response.body?.cancel();
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        throw new DownloadGone();
      why = `status ${response.status}`;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DownloadGone) throw error;
      why = "no connection";
    }
  }
  throw new SourceFailed(`The file of a Shopify bulk operation cannot be downloaded: ${why}.`);
}

import { setTimeout as sleep } from "node:timers/promises";
import { isLoopbackHost } from "../../../lib/loopback.ts";
import { SourceFailed, SourceRefused } from "../../connector.ts";
import { readText } from "./source-answer.ts";

/** A source that is asked over HTTP. */
export type JsonSource = {
  /** What people call it: "ShipStation". */
  title: string;
  /** Where its API keys are made: "Settings → API Settings". */
  keyPlace: string;
  /** Where its API begins; no other place is ever sent the headers. */
  baseUrl: URL;
  /** Those that carry the key. */
  headers: Record<string, string>;
  signal: AbortSignal;
  patience: Patience;
};

export type Patience = {
  /** How long one answer may take, in milliseconds. */
  timeoutMs: number;
  /** Before the second try; it doubles with every further one. */
  firstPauseMs: number;
  /** How often a request is sent before the source counts as failed. */
  tries: number;
  /** How often in a row a source may answer 429, and the longest pause it may request. */
  slowdowns: number;
  maxSlowdownMs: number;
};

export const PATIENCE: Patience = {
  timeoutMs: 30_000,
  firstPauseMs: 500,
  tries: 6,
  slowdowns: 20,
  maxSlowdownMs: 120_000,
};

/** For one request while the operator waits. */
export const CHECK_PATIENCE: Patience = {
  ...PATIENCE,
  tries: 2,
  slowdowns: 1,
  timeoutMs: 10_000,
  maxSlowdownMs: 10_000,
};

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * GETs JSON. Failures that a retry may fix (5xx, cut connections, silence, half an answer) are asked for again, 429
 * after the pause it names. Throws `SourceRefused` for 401 and 403, `SourceFailed` for everything else that is no JSON
 * of a 200, and the signal's reason when it aborts.
 */
export async function getJson(source: JsonSource, url: URL): Promise<unknown> {
  const { patience, signal, title } = source;
  let slowdowns = 0;
  for (let attempt = 1; ;) {
    signal.throwIfAborted();
    const outcome = await ask(source, url);
    signal.throwIfAborted();
    if ("json" in outcome) return outcome.json;
    if (outcome.pauseMs !== null && slowdowns < patience.slowdowns) {
      slowdowns += 1;
      await pause(Math.min(outcome.pauseMs, patience.maxSlowdownMs), signal);
      continue;
    }
    if (attempt >= patience.tries) {
      throw new SourceFailed(`${title} did not answer in ${attempt} tries, the last one: ${outcome.reason}.`);
    }
    await pause(patience.firstPauseMs * 2 ** (attempt - 1), signal);
    attempt += 1;
  }
}

/**
 * The API's root of a setting, with a slash at its end. Keys go to the source's own hosts over https, else to this
 * machine itself alone. The first host is the one without a setting.
 */
export function readBaseUrl(setting: unknown, hosts: readonly [string, ...string[]], title: string): URL {
  const fallback = `https://${hosts[0]}`;
  const text = setting ?? fallback;
  const url = typeof text === "string" ? URL.parse(text) : null;
  const isOwn = url?.protocol === "https:" && url.port === "" && hosts.includes(url.hostname);
  const isLocal = url !== null && /^https?:$/u.test(url.protocol) && isLoopbackHost(url.hostname);
  if (url === null || url.username !== "" || !(isOwn || isLocal)) {
    throw new SourceFailed(
      `The address of ${title} has to be ${fallback} (another only on this machine itself).`,
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** A key as it may stand in a header. Throws `SourceRefused` when there is none. */
export function readApiKey(secret: string | undefined, title: string): string {
  const key = secret?.trim() ?? "";
  if (key === "") throw new SourceRefused(`${title} has no API key: connect it again.`);
  if (!/^[\u0021-\u007e]+$/u.test(key)) {
    throw new SourceRefused(`The API key of ${title} has characters that no key has: connect it again.`);
  }
  return key;
}

/** pauseMs: the source asks for a pause before the next try; null = it does not. */
type Outcome = { json: unknown } | { reason: string; pauseMs: number | null };

async function ask(source: JsonSource, url: URL): Promise<Outcome> {
  const { title, keyPlace, headers, patience } = source;
  const signal = AbortSignal.any([source.signal, AbortSignal.timeout(patience.timeoutMs)]);
  let response: Response;
  let text: string;
  try {
    // A redirect would carry the key to wherever it leads.
    response = await fetch(url, {
      headers: { ...headers, accept: "application/json" },
      redirect: "manual",
      signal,
    });
    text = await readText(response, title, MAX_ANSWER_BYTES);
  } catch (error) {
    if (error instanceof SourceFailed) throw error;
    const isSilence = error instanceof Error && error.name === "TimeoutError";
    return { reason: isSilence ? "no answer in time" : "the connection broke off", pauseMs: null };
  }
  const { status } = response;
  if (status === 401 || status === 403) {
    throw new SourceRefused(
      `${title} does not take this API key (status ${status}): check it under ${keyPlace}, and connect it again.`,
    );
  }
  if (status === 429) return { reason: "status 429", pauseMs: retryAfterMs(response, patience) };
  if (status >= 500 || status === 408) return { reason: `status ${status}`, pauseMs: null };
  if (status === 404) throw new SourceFailed(`${title} answered with status 404: is its address right?`);
  if (status !== 200)
    throw new SourceFailed(`${title} answered with status ${status} where 200 was expected.`);
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { reason: "the answer was no complete JSON", pauseMs: null };
  }
}

/** Retry-After is seconds or a date. */
function retryAfterMs(response: Response, patience: Patience): number {
  const text = response.headers.get("retry-after") ?? "";
  if (/^\d+(?:\.\d+)?$/u.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? patience.firstPauseMs : Math.max(0, date - Date.now());
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}

import { SourceFailed, SourceRefused } from "../../connector.ts";
import { ask, isOwnUrl, readJson } from "./http.ts";
import type { HttpSource } from "./http.ts";

/** A source that is asked for JSON with an API key. */
export type JsonSource = HttpSource & {
  /** Where its API keys are made: "Settings → API Settings". */
  keyPlace: string;
  /** Where its API begins; no other place is ever sent the headers. */
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
      if (status === 401 || status === 403) {
        throw new SourceRefused(
          `${title} does not take this API key (status ${status}): check it under ${keyPlace}, and connect it again.`,
        );
      }
      if (status === 200) return readJson(body);
      if (status === 404) throw new SourceFailed(`${title} answered with status 404: is its address right?`);
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

/** A key as it may stand in a header. Throws `SourceRefused` when there is none. */
export function readApiKey(secret: string | undefined, title: string): string {
  const key = secret?.trim() ?? "";
  if (key === "") throw new SourceRefused(`${title} has no API key: connect it again.`);
  if (!/^[\u0021-\u007e]+$/u.test(key)) {
    throw new SourceRefused(`The API key of ${title} has characters that no key has: connect it again.`);
  }
  return key;
}

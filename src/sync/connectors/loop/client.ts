import { SourceFailed } from "../../connector.ts";
import { CHECK_PATIENCE, getJson, PATIENCE, readApiKey, readBaseUrl } from "../kit/http-json.ts";
import type { JsonSource, Patience } from "../kit/http-json.ts";
import { readFields } from "../kit/said-fields.ts";
import type { SaidFields } from "../kit/said-fields.ts";

export const TITLE = "Loop";

const HOSTS = ["api.loopreturns.com"] as const;
const LIST_PATH = "api/2026-07/warehouse/return/list";

export type LoopOptions = { pageSize: number; patience: Patience };

export const LOOP_OPTIONS: LoopOptions = { pageSize: 250, patience: PATIENCE };

/** Returns by when they were updated, both ends included; at most 120 days apart. */
export type LoopWindow = { from: Date; to: Date };

/** nextPageUrl null = the window's last page. */
export type ReturnListPage = { returns: SaidFields[]; nextPageUrl: string | null };

/**
 * Asks Loop's API, 300 requests a minute. `url` null = Loop itself. Throws as `getJson`, and `SourceFailed` for answers
 * of another form.
 */
export type LoopClient = {
  /** The window's first page, or the one that a page before it named. */
  listReturns(window: LoopWindow, pageUrl: string | null): Promise<ReturnListPage>;
};

export function openLoop(
  place: { url: unknown; apiKey: string | undefined; signal: AbortSignal },
  options: LoopOptions,
): LoopClient {
  const source: JsonSource = {
    title: TITLE,
    keyPlace: "Returns Management → Tools & integrations → Developer Tools",
    baseUrl: readBaseUrl(place.url, HOSTS, TITLE),
    headers: { "X-Authorization": readApiKey(place.apiKey, TITLE) },
    signal: place.signal,
    patience: options.patience,
  };
  return {
    listReturns: async (window, pageUrl) => {
      const url =
        pageUrl === null
          ? firstPageUrl(source.baseUrl, window, options.pageSize)
          : ownUrl(source.baseUrl, pageUrl);
      const answer = readFields(await getJson(source, url), TITLE, "a page of returns");
      const next = answer.optionalText("nextPageUrl");
      const nextPageUrl = next === null ? null : ownUrl(source.baseUrl, next).href;
      if (nextPageUrl === url.href) throw new SourceFailed(`${TITLE} named a page as its own next page.`);
      return { returns: answer.list("returns"), nextPageUrl };
    },
  };
}

/** One small request with the credentials. Throws `SourceRefused` or `SourceFailed` when returns cannot be read. */
export async function checkLoop(place: {
  url?: unknown;
  apiKey: string;
  signal: AbortSignal;
}): Promise<void> {
  const client = openLoop(
    { url: place.url, apiKey: place.apiKey, signal: place.signal },
    { pageSize: 1, patience: CHECK_PATIENCE },
  );
  const to = new Date();
  await client.listReturns({ from: new Date(to.getTime() - 86_400_000), to }, null);
}

function firstPageUrl(baseUrl: URL, { from, to }: LoopWindow, pageSize: number): URL {
  const url = new URL(LIST_PATH, baseUrl);
  url.search = new URLSearchParams({
    from: momentText(Math.floor(from.getTime() / 1000)),
    to: momentText(Math.ceil(to.getTime() / 1000)),
    filter: "updated_at",
    paginate: "true",
    pageSize: String(pageSize),
  }).toString();
  return url;
}

/** The form that the API documents: 2026-07-01 00:00:00+00:00. */
function momentText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")}+00:00`;
}

/** A page's address inside the API: the key goes to no other host, whatever an answer says. */
function ownUrl(baseUrl: URL, text: string): URL {
  const url = URL.parse(text, baseUrl);
  if (url?.origin !== baseUrl.origin) {
    throw new SourceFailed(`${TITLE} named a next page on another host, which is not asked.`);
  }
  return url;
}

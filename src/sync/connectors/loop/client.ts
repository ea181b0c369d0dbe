import Type, { type Static } from "typebox";
import { SourceFailed } from "../../connector.ts";
import { Amount, Currency, Id, nullable, object, optional, reader, Text, Time } from "../shared/foreign.ts";
import { getJson, type JsonSource } from "../shared/http.ts";
import { cleanLabel } from "../shared/text.ts";

export const TITLE = "Loop";

const LIST_PATH = "api/2026-07/warehouse/return/list";

/** The members of a label, or of a return with one label and no list. */
const LABEL = {
  tracking_number: optional(Id),
  created_at: optional(Time),
  currency: optional(Currency),
  status: nullable(Text),
  label_status: nullable(Text),
};

/** rate: cents when it is a whole number, an amount when it is written with a decimal point. */
const LISTED_LABEL = object("Label", { ...LABEL, rate: optional(Amount) });

const RETURN = object("Return", {
  ...LABEL,
  id: Id,
  created_at: Time,
  updated_at: optional(Time),
  provider_order_id: optional(Id),
  order_name: nullable(Text),
  /** An amount. */
  label_rate: optional(Amount),
  labels: nullable(Type.Array(LISTED_LABEL)),
});

export type LoopReturn = Static<typeof RETURN>;
export type LoopLabel = Omit<Static<typeof LISTED_LABEL>, "rate"> & {
  rate?: Static<typeof LISTED_LABEL>["rate"];
};

export const readReturn = reader(TITLE, RETURN);
const readPage = reader(
  TITLE,
  object("ReturnList", { returns: Type.Array(RETURN), nextPageUrl: nullable(Text) }),
);

/** Returns by update time, both ends included; at most 120 days apart. */
export type LoopWindow = { from: Date; to: Date };

/** nextPageUrl null = the window's last page. */
type ReturnListPage = { returns: LoopReturn[]; nextPageUrl: string | null };

/** Asks Loop's API, 300 requests a minute. Throws as `getJson`, and `SourceFailed` for answers of another form. */
export type LoopClient = {
  /** The window's first page, or the one that a page before it named. */
  listReturns(window: LoopWindow, pageUrl: string | null): Promise<ReturnListPage>;
};

export function openLoop(source: JsonSource, pageSize: number): LoopClient {
  return {
    listReturns: async (window, pageUrl) => {
      const { baseUrl } = source;
      const url = pageUrl === null ? firstPageUrl(baseUrl, window, pageSize) : ownUrl(baseUrl, pageUrl);
      const page = readPage(await getJson(source, url));
      const next = cleanLabel(page.nextPageUrl ?? null);
      const nextPageUrl = next === null ? null : ownUrl(baseUrl, next).href;
      if (nextPageUrl === url.href) throw new SourceFailed(`${TITLE} returned a page as its own next page.`);
      return { returns: page.returns, nextPageUrl };
    },
  };
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

/** A page's address inside the API: the key is sent to no other host, whatever an answer says. */
function ownUrl(baseUrl: URL, text: string): URL {
  const url = URL.parse(text, baseUrl);
  if (url?.origin !== baseUrl.origin) {
    throw new SourceFailed(`${TITLE} returned a next page on another host, which is not allowed.`);
  }
  return url;
}

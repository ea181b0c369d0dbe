import { ownOriginOf } from "../lib/networks.ts";

/** Where the console answers: at one https origin, or, with null, over http under the names of this machine alone. */
export type ConsoleSite = { publicOrigin: string | null };

/** The headers that decide, as Node.js gives them. */
export type RequestHead = {
  method: string;
  host: string | undefined;
  origin: string | undefined;
  /** Sec-Fetch-Site, which browsers set and pages cannot. */
  fetchSite: string | undefined;
};

/** "other_host" = a name that the console does not have. "other_origin" = a change that no page of ours sent. */
export type OriginVerdict = "allowed" | "other_host" | "other_origin";

const READING_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Judges a request by its headers. A name that anybody can point at this machine is no name of ours (DNS rebinding). What
 * changes something comes from a page of ours: by its Origin and, where it is sent, by Sec-Fetch-Site; without both it is
 * refused, and so is `Origin: null`.
 */
export function judgeRequest(head: RequestHead, site: ConsoleSite): OriginVerdict {
  const ownOrigin = ownOriginOf(head.host, site.publicOrigin);
  if (ownOrigin === null) return "other_host";
  if (READING_METHODS.has(head.method)) return "allowed";
  const { origin, fetchSite } = head;
  const isOurs =
    (origin !== undefined || fetchSite !== undefined) &&
    (origin === undefined || origin === ownOrigin) &&
    (fetchSite === undefined || fetchSite === "same-origin");
  return isOurs ? "allowed" : "other_origin";
}

import { ownOriginOf } from "../lib/networks.ts";

/** The console's address: one https origin, or, with null, http under this machine's own names. */
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
 * Judges a request by its headers. A name that anybody can point at this machine is not accepted (DNS rebinding). Changes must
 * come from our own pages: checked by Origin and, if sent, by Sec-Fetch-Site; without both the request is refused, and so is
 * `Origin: null`.
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

/**
 * What a page may load, and from where; `imageSources` are additional image origins, `formTargets` the allowed redirect targets
 * of its forms.
 */
export function contentSecurityPolicy(
  imageSources: readonly string[] = [],
  formTargets: readonly string[] = [],
): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self'", ...imageSources].join(" "),
    "connect-src 'self'",
    ["form-action 'self'", ...formTargets].join(" "),
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

/**
 * Pages that a web app's window passes through. An opener policy would cut that window off from the page that opened it and
 * waits for it, also at the app's own address after consent.
 */
export const isOfAppWindow = (path: string): boolean =>
  /^\/(?:(?:oauth\/authorize|sign-in|confirm|w\/[^/?]+\/settings\/tokens\/connect)(?:[/?]|$)|w\?)/u.test(
    path,
  );

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * Headers of every page of the console, in addition to those of every answer. Its referrer policy lets our forms send their
 * Origin, which `no-referrer` would turn into "null".
 */
export function consoleHeaders({ publicOrigin }: ConsoleSite): Readonly<Record<string, string>> {
  return {
    "Content-Security-Policy": contentSecurityPolicy(),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    ...(publicOrigin === null
      ? {}
      : { "Strict-Transport-Security": `max-age=${ONE_YEAR_SECONDS}; includeSubDomains` }),
  };
}

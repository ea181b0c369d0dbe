import type { ConsoleSite } from "./request-rules.ts";

/**
 * What a page may load, and from where; `imageSources` are origins of images besides this service, `formTargets` what answers
 * to its forms may lead to.
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

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * What every page of the console sends beside the headers of every answer. Its referrer policy lets a form of ours send its
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

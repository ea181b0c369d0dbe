/** Pages of the console beside those of workspaces. */
const OWN_PAGES: ReadonlySet<string> = new Set(["/me"]);
/** As long as a cookie may keep: a browser drops one of more than 4096 bytes, and base64 makes four of three. */
const LONGEST_TARGET = 2048;

/**
 * Whether a text is path and query of a page of the console, so that a redirect to it stays here: visible ASCII without a
 * backslash, which browsers read as a slash, and once dots are resolved below /w/ or a page of its own; no scheme or host.
 */
export function isConsolePath(target: string): boolean {
  if (target.length > LONGEST_TARGET || !/^\/[a-z][!-[\]-~]*$/u.test(target)) return false;
  const own = "http://localhost";
  const url = URL.parse(target, own);
  if (url?.origin !== own) return false;
  return url.pathname.startsWith("/w/") || OWN_PAGES.has(url.pathname);
}

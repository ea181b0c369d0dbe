import { isHttpsOrLoopback } from "../lib/networks.ts";

/**
 * The origin where people reach the console: an https `publicUrl`, else a name of this machine, `localhost` unless `publicUrl` is
 * another. Plain http never crosses a network.
 */
export function consoleAddress(publicUrl: string | null, port: number | string): string {
  return oauthIssuer(publicUrl) ?? `http://localhost:${port}`;
}

/** The one origin at which a console with an https `publicUrl` answers; null = it answers under this machine's own names. */
export function publicConsole(publicUrl: string | null): string | null {
  return publicUrl?.startsWith("https:") === true ? publicUrl : null;
}

/**
 * The address where MCP clients sign in by OAuth, which must not change: an https `publicUrl`, or one of this machine. null:
 * clients use tokens only.
 */
export function oauthIssuer(publicUrl: string | null): string | null {
  return publicUrl !== null && isHttpsOrLoopback(publicUrl) ? publicUrl : null;
}

/** Paths of the pages of sources, below /w/<shop_domain>. */
export const SOURCES_PATH = "/settings/sources";

export function sourcePath(source: string, below: "" | "/connect" | "/progress" | `/${string}` = ""): string {
  return `${SOURCES_PATH}/${source}${below}`;
}

/** Where files are uploaded. */
export const IMPORTS_PATH = "/settings/imports";

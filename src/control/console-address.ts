import { isLoopbackHost } from "../lib/loopback.ts";

/** Where people reach the console, and whether they can sign in there. */
export type ConsoleAddress = { origin: string; canSignIn: boolean };

/** Why nobody signs in at an https address. */
export const NO_SIGN_IN_YET =
  "Nobody can sign in to the console there yet: that takes passkeys, which a later version brings.";

/**
 * The console is at an https `publicUrl`, else under this machine's own names: at `localhost` unless `publicUrl` says another
 * of them. Plain http crosses no network.
 */
export function consoleAddress(publicUrl: string | null, port: number | string): ConsoleAddress {
  const url = publicUrl === null ? null : new URL(publicUrl);
  if (url?.protocol === "https:") return { origin: url.origin, canSignIn: false };
  const origin = url !== null && isLoopbackHost(url.hostname) ? url.origin : `http://localhost:${port}`;
  return { origin, canSignIn: true };
}

import { chromium, type Browser } from "playwright-core";
import { findChromium } from "./support/install-chromium.ts";

export const OTHER_HOST = "store.example";

/** A browser that makes no network requests unasked. */
const LAUNCH_ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A host name that resolves to this machine but is not one of its names.
  `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`,
];

/** Starts the machine's Chromium, with arguments of one's own too, or says that there is none. */
export async function startChromium(
  ownArguments: readonly string[] = [],
): Promise<Browser | { reason: string }> {
  const executablePath = findChromium();
  if (executablePath === undefined) return { reason: "There is no Chromium: see the start of npm test." };
  return chromium.launch({ executablePath, args: [...LAUNCH_ARGUMENTS, ...ownArguments] });
}

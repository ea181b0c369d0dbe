import { after, before } from "node:test";
import type { TestContext } from "node:test";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { findChromium } from "./support/install-chromium.ts";

/** A browser that does nothing of its own accord on the network. */
const LAUNCH_ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the machine's Chromium, with arguments of one's own too, or says that there is none. */
export async function startChromium(
  ownArguments: readonly string[] = [],
): Promise<Browser | { reason: string }> {
  const executablePath = findChromium();
  if (executablePath === undefined) return { reason: "There is no Chromium: see the start of npm test." };
  return chromium.launch({ executablePath, args: [...LAUNCH_ARGUMENTS, ...ownArguments] });
}

export type TestBrowser = {
  readonly browser: Browser;
  /** Whether there is no Chromium; the test is skipped then. */
  isMissing(context: TestContext): boolean;
};

/**
 * A Chromium for all tests of a file. `begin` starts what its pages are of, unless there is no browser, and returns what
 * stops that again.
 */
export function useChromium(
  begin: () => Promise<() => unknown>,
  ownArguments: readonly string[] = [],
): TestBrowser {
  let found: Browser | { reason: string } = { reason: "The browser has not been started." };
  let end: (() => unknown) | undefined;
  before(async () => {
    found = await startChromium(ownArguments);
    if (!("reason" in found)) end = await begin();
  });
  after(async () => {
    if (!("reason" in found)) await found.close();
    await end?.();
  });
  return {
    get browser() {
      if ("reason" in found) throw new Error(found.reason);
      return found;
    },
    isMissing: (context) => {
      if ("reason" in found) context.skip(found.reason);
      return "reason" in found;
    },
  };
}

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { startCommand } from "./command.ts";

/** Somebody who starts the service for the first time, and uses nothing but their browser from then on. */
export type Newcomer = {
  page: Page;
  /** Presses a button or follows a link, and counts it. */
  click: (target: Locator) => Promise<void>;
  /** Everything the service printed on its standard error. */
  logged: () => string;
};

export type Onboarding = { clicks: number; seconds: number };

/**
 * From `npm start -- --no-demo` on an empty data folder: the link is opened, `use` does the rest up to the first chart. Tells
 * how many clicks and seconds it took, from the printed link on.
 */
export async function onboard(
  context: TestContext,
  browser: Browser,
  { name, environment }: { name: string; environment: Record<string, string> },
  use: (newcomer: Newcomer) => Promise<void>,
): Promise<Onboarding> {
  const dataFolder = await mkdtemp(join(tmpdir(), "returns-onboarding-"));
  const serving = startCommand(["serve", "--no-demo"], {
    RETURNS_DATA_DIR: dataFolder,
    PORT: "0",
    ...environment,
  });
  let logs = "";
  serving.child.stderr?.on("data", (text: string) => (logs += text));
  const own = await browser.newContext();
  try {
    const text = await serving.printed(/\/enter#[\w-]+\n/u);
    const link = /http:\/\/localhost:\d+\/enter#[\w-]+/u.exec(text)?.[0] ?? "";
    const page = await own.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => problems.push(message.text()));
    let clicks = 0;
    const click = async (target: Locator): Promise<void> => {
      clicks += 1;
      await target.click();
    };
    const startedAtMs = performance.now();
    await page.goto(link);
    await use({ page, click, logged: () => logs });
    const seconds = Math.round((performance.now() - startedAtMs) / 100) / 10;
    assert.deepEqual(problems, []);
    context.diagnostic(`${name}: ${clicks} clicks and ${seconds} s to the first chart`);
    return { clicks, seconds };
  } finally {
    await own.close();
    serving.child.kill("SIGTERM");
    await serving.outcome;
    await rm(dataFolder, { recursive: true, force: true });
  }
}

/** A port that is free now, for a service whose address has to be known before it starts. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

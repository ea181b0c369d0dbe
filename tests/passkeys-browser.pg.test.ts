import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { TestContext } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startChromium } from "./docs-chromium.ts";
import { addAuthenticator } from "./support/authenticator.ts";
import type { Authenticator } from "./support/authenticator.ts";
import { makeUserLink } from "./support/console-person.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { startTlsProxy } from "./support/tls-proxy.ts";
import type { TlsProxy } from "./support/tls-proxy.ts";

/** Passkeys at an https address, in Chromium with its virtual authenticator. */

const HOME = "https://returns.example";

let service: TestService;
let proxy: TlsProxy;
let browser: Browser;
let missing: string | undefined;

before(async () => {
  service = await startTestService({ PUBLIC_URL: HOME });
  proxy = await startTlsProxy(service.address);
  const started = await startChromium([
    `--host-resolver-rules=MAP returns.example:443 127.0.0.1:${proxy.port}`,
    "--ignore-certificate-errors",
  ]);
  if ("reason" in started) missing = started.reason;
  else browser = started;
});
after(async () => {
  await (browser as Browser | undefined)?.close();
  await proxy.stop();
  await service.stop();
});

type Device = { page: Page; own: BrowserContext; authenticator: Authenticator };

/** A browser with an authenticator of its own. */
async function withDevice(
  context: TestContext,
  use: (device: Device) => Promise<void>,
  options: { hasUserVerification?: boolean } = {},
): Promise<void> {
  if (missing !== undefined) return context.skip(missing);
  const own = await browser.newContext({ ignoreHTTPSErrors: true });
  try {
    const page = await own.newPage();
    await use({ page, own, authenticator: await addAuthenticator(page, options) });
  } finally {
    await own.close();
  }
}

async function linkOf(name: string, isRecovery = false): Promise<string> {
  const { secret } = await makeUserLink(service, { name, isRecovery });
  return `${HOME}/enter#${secret}`;
}

async function enrol({ page }: Device, link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole("button", { name: "Make a passkey and sign in" }).click();
  await page.waitForURL(`${HOME}/w`);
}

test("a link opens the making of a passkey, which signs in then and later", async (context) => {
  await withDevice(context, async (device) => {
    const { page, own, authenticator } = device;
    await enrol(device, await linkOf("Ada"));
    const [held] = await authenticator.credentials();
    assert.deepEqual([held?.rpId, held?.isResidentCredential], ["returns.example", true]);
    const [cookie] = await own.cookies();
    assert.deepEqual(
      [cookie?.name, cookie?.secure, cookie?.httpOnly, cookie?.sameSite, cookie?.path],
      ["__Host-returns", true, true, "Lax", "/"],
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${HOME}/sign-in`);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.waitForURL(`${HOME}/w`);
    const [later] = await own.cookies();
    assert.notEqual(later?.value, cookie?.value);
  });
});

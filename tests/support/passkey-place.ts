import type { TestContext } from "node:test";
import type { BrowserContext, BrowserContextOptions, Page, CDPSession } from "playwright-core";
import { chromiumFor } from "./chromium.ts";
import { makeUserLink } from "./console-person.ts";
import { startTestService, type TestService } from "./service.ts";
import { startTlsProxy, type TlsProxy } from "./tls-proxy.ts";

/** Chromium's own authenticator of one page: a device that unlocks by a fingerprint. */
type Authenticator = {
  credentials(): Promise<{ rpId?: string; isResidentCredential: boolean }[]>;
  clear(): Promise<void>;
  /** Whether the fingerprint fits from now on. */
  verify(isVerified: boolean): Promise<void>;
};

async function addAuthenticator(page: Page): Promise<Authenticator> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    credentials: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    clear: async () => {
      await session.send("WebAuthn.clearCredentials", { authenticatorId });
    },
    verify: async (isUserVerified) => {
      await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    },
  };
}

/** Where the console of these tests is. */
export const HOME = "https://returns.example";

/** A browser with its own authenticator. */
export type Device = { page: Page; own: BrowserContext; authenticator: Authenticator };

export type PasskeyPlace = {
  service: TestService;
  withDevice(
    context: TestContext,
    use: (device: Device) => Promise<void>,
    options?: BrowserContextOptions,
  ): Promise<void>;
  stop(): Promise<void>;
};

/** A service at an https address, behind TLS, and browsers that find it there. */
export async function startPasskeyPlace(
  startFront: (address: string) => Promise<TlsProxy> = startTlsProxy,
): Promise<PasskeyPlace> {
  const service = await startTestService({ PUBLIC_URL: HOME });
  // The first person is an operator, whom / redirects elsewhere.
  await makeUserLink(service, { name: "Operator" });
  const proxy = await startFront(service.address);
  const found = await chromiumFor(proxy.port);
  return {
    service,
    withDevice: async (context, use, options = {}) => {
      if ("reason" in found) return context.skip(found.reason);
      proxy.moveOn();
      const own = await found.newContext({ ignoreHTTPSErrors: true, ...options });
      try {
        const page = await own.newPage();
        await use({ page, own, authenticator: await addAuthenticator(page) });
      } finally {
        await own.close();
      }
    },
    stop: async () => {
      await proxy.stop();
      await service.stop();
    },
  };
}

/** The link that `./returns user link` prints there. */
export async function passkeyLink(
  { service }: PasskeyPlace,
  name: string,
  { isRecovery = false, shopDomain }: { isRecovery?: boolean; shopDomain?: string } = {},
): Promise<string> {
  const { secret } = await makeUserLink(service, {
    name,
    isRecovery,
    ...(shopDomain === undefined ? {} : { shopDomain }),
  });
  return `${HOME}/enter#${secret}`;
}

/** Creates a passkey with a link, which signs in. */
export async function enrol({ page }: Device, link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole("button", { name: "Create passkey and sign in" }).click();
  await page.waitForURL(`${HOME}/w`);
}

/** Signs out, then in again with the passkey. */
export async function signInAgain({ page }: Device): Promise<void> {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${HOME}/sign-in`);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
}

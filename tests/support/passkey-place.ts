import type { TestContext } from "node:test";
import type { BrowserContext, BrowserContextOptions, Page, CDPSession } from "playwright-core";
import { chromiumFor } from "./chromium.ts";
import { makeUserLink } from "./console-person.ts";
import { startTestService, type TestService } from "./service.ts";
import { startTlsProxy, type TlsProxy } from "./tls-proxy.ts";

/** A passkey inside an authenticator. */
type HeldCredential = {
  credentialId: string;
  isResidentCredential: boolean;
  rpId?: string;
  privateKey: string;
  userHandle?: string;
  signCount: number;
};

/** Chromium's own authenticator of one page: a device that unlocks by a fingerprint, or one that cannot. */
type Authenticator = {
  credentials(): Promise<HeldCredential[]>;
  add(credential: HeldCredential): Promise<void>;
  clear(): Promise<void>;
  /** Whether the fingerprint fits from now on. */
  verify(isVerified: boolean): Promise<void>;
};

async function addAuthenticator(
  page: Page,
  { hasUserVerification = true }: { hasUserVerification?: boolean } = {},
): Promise<Authenticator> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification,
      isUserVerified: hasUserVerification,
      automaticPresenceSimulation: true,
    },
  });
  return {
    credentials: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    add: async (credential) => {
      await session.send("WebAuthn.addCredential", { authenticatorId, credential });
    },
    clear: async () => {
      await session.send("WebAuthn.clearCredentials", { authenticatorId });
    },
    verify: async (isUserVerified) => {
      await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    },
  };
}

/** Where the console of these tests is, and a name below it that is somebody else's. */
export const HOME = "https://returns.example";
export const EVIL = "https://evil.returns.example";

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
  // The first person is an operator, whom / leads elsewhere.
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

/** Makes a passkey by a link, which signs in. */
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

/** What the server asks a browser to sign; the page has to be one of the console. */
export async function askToSign({ page }: Device, path = "/sign-in/options"): Promise<object> {
  return page.evaluate<object>(
    `fetch("${path}", { method: "POST", body: new URLSearchParams() }).then((r) => r.json())`,
  );
}

/** The answer of the page's authenticator, which is sent nowhere. */
export async function sign({ page }: Device, options: object): Promise<string> {
  return page.evaluate<string>(
    `navigator.credentials
      .get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)}) })
      .then((credential) => JSON.stringify(credential.toJSON()))`,
  );
}

/** Posts a form as a page of the console does; 0 = it was accepted, and led on. */
export async function postFrom(
  { page }: Device,
  path: string,
  fields: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return page.evaluate<{ status: number; text: string }>(
    `fetch("${path}", {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams(${JSON.stringify(fields)}),
    }).then(async (response) => ({ status: response.status, text: await response.text() }))`,
  );
}

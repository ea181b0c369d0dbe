import type { CDPSession, Page } from "playwright-core";

/** A passkey inside an authenticator. */
export type HeldCredential = {
  credentialId: string;
  isResidentCredential: boolean;
  rpId?: string;
  privateKey: string;
  userHandle?: string;
  signCount: number;
};

/** Chromium's own authenticator of one page: a device that unlocks by a fingerprint, or one that cannot. */
export type Authenticator = {
  credentials(): Promise<HeldCredential[]>;
  add(credential: HeldCredential): Promise<void>;
  clear(): Promise<void>;
  /** Whether the fingerprint fits from now on. */
  verify(isVerified: boolean): Promise<void>;
};

export async function addAuthenticator(
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
    credentials: async () =>
      (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials as HeldCredential[],
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

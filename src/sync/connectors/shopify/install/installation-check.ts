import type { Database } from "../../../../store/database.ts";
import type { AccountRow } from "../../../../store/queries/shop-account.ts";
import { SourceRefused } from "../../../connector.ts";
import { openCredentials, unsealSecrets } from "../../../credentials.ts";
import { openClient, SHOPIFY_RETRY_POLICY } from "../api/client.ts";
import { SHOPIFY } from "../run.ts";
import { readSettings } from "../settings.ts";
import { readShopAccess } from "./access.ts";
import { createTokenSource } from "./token.ts";

export type InstallationCheck = {
  database: Database;
  sealingKey: Buffer;
  /** The app's; null = this installation has none. */
  clientId: string | null;
  clientSecret: string | null;
};

/** unknown: the platform could not be asked, or did not say. */
export type InstallationState = "installed" | "gone" | "unknown";

/** The platform waits five seconds for the answer to a webhook. */
const LONGEST_CHECK_MS = 4000;
const RETRY_POLICY = { ...SHOPIFY_RETRY_POLICY, tries: 1, timeoutMs: LONGEST_CHECK_MS };

/** Whether the app is still installed in the shop of a workspace: the platform takes the token of no other. */
export async function checkInstallation(
  check: InstallationCheck,
  { shop_key: shopKey, settings, sealed_credentials: sealed }: AccountRow,
): Promise<InstallationState> {
  if (sealed === null) return "gone";
  const { database, sealingKey, clientId, clientSecret } = check;
  const place = { sealingKey, shopKey, source: SHOPIFY };
  try {
    // Credentials that cannot be opened are not refused by the platform.
    unsealSecrets(place, sealed);
  } catch {
    return "unknown";
  }
  try {
    const { url } = readSettings(settings ?? {});
    const credentials = openCredentials({ ...place, database });
    const tokens = createTokenSource({ credentials, url, clientId, clientSecret, now: () => new Date() });
    const signal = AbortSignal.timeout(LONGEST_CHECK_MS);
    await readShopAccess(openClient({ url, tokens, signal, retryPolicy: RETRY_POLICY }));
    return "installed";
  } catch (error) {
    return error instanceof SourceRefused ? "gone" : "unknown";
  }
}

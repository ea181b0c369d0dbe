import { createToken } from "../../src/admission/token.ts";
import { SCOPES } from "../../src/contract/endpoint.ts";
import type { Connection } from "../../src/store/database.ts";
import { publishImport, putLabelSource, putStoreSource } from "../../src/store/queries/publish.ts";
import { insertToken } from "../../src/store/queries/token.ts";
import { insertShop, insertWorkspace } from "../../src/store/queries/workspace-write.ts";
import { AS_OF, CURRENCY } from "./store-plan.ts";

export type LoadedWorkspace = { shopKey: number; shopDomain: string; token: string };

export type WorkspaceOptions = { domain: string; planKey: string; tokenPepper: Buffer };

/** A workspace without data, with one token of all scopes. */
export async function addWorkspace(
  connection: Connection,
  { domain, planKey, tokenPepper }: WorkspaceOptions,
): Promise<LoadedWorkspace> {
  const shopKey = await insertShop(connection, domain);
  if (shopKey === null) throw new Error(`the database already has a workspace for ${domain}`);
  await insertWorkspace(connection, shopKey, {
    organizationId: `org_${shopKey}`,
    shopId: `shop_${shopKey}`,
    shopDomain: domain,
    currencyCode: CURRENCY,
    planKey,
    isSetupOpen: false,
  });
  const { token, tokenId, secretHash } = createToken(shopKey, tokenPepper);
  await insertToken(connection, shopKey, {
    tokenId,
    name: "bench",
    secretHash,
    scopes: SCOPES,
    createdBy: "bench",
    expiresAt: null,
    replaces: null,
    requestKey: null,
  });
  return { shopKey, shopDomain: domain, token };
}

/** Makes a workspace ready to be asked, its sources synced. Its labels are there already. */
export async function openWorkspace(connection: Connection, shopKey: number): Promise<void> {
  await putStoreSource(connection, shopKey, "csv", AS_OF);
  await putLabelSource(connection, shopKey, "csv_labels", AS_OF, CURRENCY);
  await publishImport(connection, shopKey, AS_OF, true);
}

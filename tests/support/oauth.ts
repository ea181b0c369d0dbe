import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { startShopifySimulator, type ShopifySimulator } from "../../tools/simulators/shopify/start.ts";
import { OPERATOR, type Actor } from "../../src/actions/actor.ts";
import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { linkSource } from "../../src/actions/sources/install.ts";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import { COMMON_HEADERS } from "../../src/http/headers.ts";
import { startTestService } from "./service.ts";
import { createTenant, type Tenant } from "./tenants.ts";
import { APP, APP_OPTIONS } from "./webhooks.ts";

export const PUBLIC_URL = "https://returns.example";

/** A service with an app that shops approve, and a browser that keeps its cookie. */
export async function startApprovalService() {
  const service = await startTestService({ ...APP_OPTIONS, PUBLIC_URL });
  const simulators: ShopifySimulator[] = [];
  let shops = 0;
  let cookie = "";
  const here = (address: string): string => address.replace(PUBLIC_URL, service.address);
  const open = async (address: string, sent = cookie): Promise<Response> => {
    const response = await fetch(address, { redirect: "manual", headers: { cookie: sent } });
    cookie = response.headers.get("set-cookie")?.split(";", 1)[0] ?? cookie;
    return response;
  };
  return {
    service,
    here,
    /** `sent` instead of the browser's own cookie. */
    open,
    /** A simulated shop that has the app, and a workspace for it. */
    newShop: async (options: { currencyCode?: string; scopes?: string[] } = {}) => {
      shops += 1;
      const domain = `shop-${shops}.myshopify.com`;
      const simulator = await startShopifySimulator({ ...options, ...APP, orders: 10, products: 3, domain });
      simulators.push(simulator);
      return { simulator, domain, tenant: await createTenant(service.database) };
    },
    /** The operator's link, as the merchant's browser opens it here. */
    linkFor: async (
      tenant: Tenant,
      shop: string,
      url: string,
      { now = new Date(), actor = OPERATOR }: { now?: Date; actor?: Actor } = {},
    ): Promise<string> => {
      const { keys } = service;
      const { database } = service.installation;
      const workspace = await requireWorkspace(database, tenant.shopDomain);
      const connecting = { publicUrl: PUBLIC_URL, app: APP };
      const given = { source: "shopify", shop, address: url, "option-familyTagPrefix": "family:" };
      const caller = { database, keys, connecting, actor, workspace, now };
      const { result } = await runAction(linkSource, caller, textInput(given));
      return here(result.address.reveal());
    },
    /** Where a page sends the browser. */
    next: async (address: string): Promise<string> => {
      const response = await open(address);
      assert.equal(response.status, 302);
      return here(response.headers.get("location") ?? "");
    },
    /** An address with a query that the platform has signed. */
    signed: (path: string, values: Record<string, string>, secret = APP.clientSecret): string => {
      const message = Object.keys(values)
        .toSorted()
        .map((name) => `${name}=${values[name]}`)
        .join("&");
      const hmac = createHmac("sha256", secret).update(message).digest("hex");
      return `${service.address}${path}?${new URLSearchParams({ ...values, hmac }).toString()}`;
    },
    connectionOf: async ({ shopKey }: Tenant) => {
      const { rows } = await service.database.query<{
        settings: Record<string, unknown>;
        is_sealed: boolean;
      }>(
        `select settings, sealed_credentials is not null as is_sealed
           from data_source where shop_key = $1 and source = 'shopify' and is_connection`,
        [shopKey],
      );
      return rows[0] ?? null;
    },
    stop: async (): Promise<void> => {
      await service.stop();
      await Promise.all(simulators.map((simulator) => simulator.stop()));
    },
  };
}

/** The sentence of a page that ends the installation. */
export async function sentenceOf(response: Response): Promise<string> {
  for (const [name, value] of Object.entries(COMMON_HEADERS)) assert.equal(response.headers.get(name), value);
  assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  return /<p>(.*)<\/p>/u.exec(await response.text())?.[1] ?? "";
}

/** The timestamp of a query that is signed now. */
export const timestamp = (): string => String(Math.floor(Date.now() / 1000));

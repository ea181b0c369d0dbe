import type { Connector, Source } from "../connector.ts";
import { labelConnector } from "./shared/label-run.ts";
import { LOOP } from "./loop/connector.ts";
import { SHIPSTATION } from "./shipstation/connector.ts";
import { API_VERSION, supportEndsAt } from "./shopify/api/client.ts";
import { createWooConnector, WOOCOMMERCE_SOURCE } from "./woocommerce/connector.ts";
import { createShopifyConnector, SHOPIFY_SOURCE } from "./shopify/connector.ts";

/** APIs with a pinned version, and the end of that version's support. */
export const PINNED_APIS: readonly { source: string; version: string; endsAt: Date }[] = [
  { source: SHOPIFY_SOURCE.source, version: API_VERSION, endsAt: supportEndsAt(API_VERSION) },
];

const LABEL_CONNECTORS = [labelConnector(SHIPSTATION), labelConnector(LOOP)];

/** Every source that a workspace can be connected to. */
export const SOURCES: readonly Source[] = [SHOPIFY_SOURCE, WOOCOMMERCE_SOURCE, ...LABEL_CONNECTORS];

/** The worker's connectors. The app is the store platform's; null: this installation has none. */
export function createConnectors(app: {
  shopifyClientId: string | null;
  shopifyClientSecret: string | null;
  shopifyPlans: readonly (readonly [name: string, plan: string])[];
  publicUrl: string | null;
}): Connector[] {
  const { shopifyClientId: clientId, shopifyClientSecret: clientSecret, publicUrl } = app;
  const plans = new Map(app.shopifyPlans);
  return [
    createShopifyConnector({ clientId, clientSecret, plans, publicUrl }),
    createWooConnector(),
    ...LABEL_CONNECTORS,
  ];
}

import type { Config } from "./config.ts";
import type { Connector } from "./sync/connector.ts";
import { createLoopConnector } from "./sync/connectors/loop/connector.ts";
import { createShipStationConnector } from "./sync/connectors/shipstation/connector.ts";
import { createShopifyConnector } from "./sync/connectors/shopify/connector.ts";
import { createTokenSource } from "./sync/connectors/shopify/install/token.ts";

/** Every source that the worker reads. */
export function createConnectors(config: Config): Connector[] {
  const { shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  return [
    createShopifyConnector({
      tokenSource: (context, url) => {
        const { credentials } = context;
        return createTokenSource({ credentials, url, clientId, clientSecret, now: () => context.now() });
      },
    }),
    createShipStationConnector(),
    createLoopConnector(),
  ];
}

import type { ControlActions } from "./control.ts";
import { shopifyOptions, type ShopifyOptions } from "./options.ts";
import { serveShopify } from "./server.ts";

export interface ShopifySimulator {
  /** The address to use instead of the shop's. */
  url: string;
  /** The lasting token. */
  token: string;
  options: ShopifyOptions;
  /** Runs a control action; rejects with its message when it is refused. */
  control<Action extends keyof ControlActions>(
    action: Action,
    input: ControlActions[Action]["input"],
  ): Promise<ControlActions[Action]["result"]>;
  stop: () => Promise<void>;
}

/** Starts a simulated shop; rejects with the `port` that is taken. */
export async function startShopifySimulator(given: Partial<ShopifyOptions> = {}): Promise<ShopifySimulator> {
  const options = shopifyOptions(given);
  const { url, stop } = await serveShopify(options);
  return {
    url,
    token: options.token,
    options,
    control: async (action, input) => {
      const response = await fetch(`${url}/control/${action}`, {
        method: "POST",
        body: JSON.stringify(input),
      });
      if (response.ok) return response.json();
      const { errors } = (await response.json()) as { errors: unknown };
      throw new Error(String(errors));
    },
    stop,
  };
}

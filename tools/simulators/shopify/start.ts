import { join } from "node:path";
import { startProcess } from "../process.ts";
import type { ControlActions } from "./control.ts";
import { shopifyOptions, type ShopifyOptions } from "./options.ts";

export interface ShopifySimulator {
  /** The address that stands for the shop's. */
  url: string;
  /** The lasting token. */
  token: string;
  options: ShopifyOptions;
  /** Runs a control action; rejects with its message when it is refused. */
  control<Action extends keyof ControlActions>(
    action: Action,
    input: ControlActions[Action][0],
  ): Promise<ControlActions[Action][1]>;
  stop: () => Promise<void>;
}

/** Starts a simulated shop in a separate process. */
export async function startShopifySimulator(given: Partial<ShopifyOptions> = {}): Promise<ShopifySimulator> {
  const { url, stop } = await startProcess(join(import.meta.dirname, "entry.ts"), given);
  return {
    url,
    token: shopifyOptions(given).token,
    options: shopifyOptions(given),
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

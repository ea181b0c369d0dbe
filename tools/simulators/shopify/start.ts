import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
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
    input: ControlActions[Action]["input"],
  ): Promise<ControlActions[Action]["result"]>;
  stop: () => Promise<void>;
}

/** Starts a simulated shop in a separate process; rejects with the `port` that is taken. */
export async function startShopifySimulator(given: Partial<ShopifyOptions> = {}): Promise<ShopifySimulator> {
  const child = fork(join(import.meta.dirname, "entry.ts"), [JSON.stringify(given)], {
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const [first] = (await Promise.race([once(child, "message"), ended])) as [
    { url: string; takenPort?: number } | number,
  ];
  if (typeof first !== "object") throw new Error(`the simulator ended with ${first} before it listened`);
  const { url, takenPort: port } = first;
  if (port !== undefined) throw Object.assign(new Error(`port ${port} is taken`), { port });
  const options = shopifyOptions(given);
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
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

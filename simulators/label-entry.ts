/** A label source's process: it takes the returns of a running simulated shop, and listens. */
import { loopReturnsOf, shipStationLabelsOf } from "./labels-of-returns.ts";
import { startLoopSimulator } from "./loop/server.ts";
import { announceStart } from "./process.ts";
import { startShipStationSimulator } from "./shipstation/server.ts";
import type { LabelOwner } from "./shopify/label-owners.ts";

export interface LabelEntryOptions {
  source: "shipstation" | "loop";
  shopUrl: string;
  currencyCode: string;
  apiKey: string;
  port: number;
}

const { source, shopUrl, currencyCode, apiKey, port } = JSON.parse(
  process.argv[2] ?? "",
) as LabelEntryOptions;
const response = await fetch(`${shopUrl}/control/label-owners`, { method: "POST" });
const owners = (await response.json()) as LabelOwner[];
await announceStart(async () => {
  const running =
    source === "shipstation"
      ? await startShipStationSimulator({ port, apiKey, labels: shipStationLabelsOf(owners, currencyCode) })
      : await startLoopSimulator({ port, apiKey, returns: loopReturnsOf(owners, currencyCode) });
  return { url: running.url, stop: () => running.stop() };
});

/** A label source's process: it takes the returns of a running simulated shop, and listens. */
import { startLoopSimulator, loopReturn } from "./loop/server.ts";
import type { LoopReturn } from "./loop/server.ts";
import { announceStart } from "./process.ts";
import { startShipStationSimulator, shipStationLabel } from "./shipstation/server.ts";
import type { ShipStationLabel } from "./shipstation/server.ts";
import type { LabelOwner } from "./shopify/control.ts";
import { randomOf } from "./shopify/world/random.ts";

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
      ? await startShipStationSimulator({ port, apiKey, labels: shipStationLabels() })
      : await startLoopSimulator({ port, apiKey, returns: loopReturns() });
  return { url: running.url, stop: () => running.stop() };
});

/** Labels of the shop's returns that have a tracking number; one in twenty was voided. */
function shipStationLabels(): ShipStationLabel[] {
  return owners.flatMap(({ trackingNumber, orderName, createdAt }, index) => {
    if (trackingNumber === null) return [];
    const random = randomOf(index, 5);
    const voided = random.chance(0.05);
    return [
      shipStationLabel({
        labelId: `se-${index + 1}`,
        createdAt,
        amount: random.between(350, 1290) / 100,
        currency: currencyCode.toLowerCase(),
        trackingNumber,
        rmaNumber: random.chance(0.5) ? orderName : null,
        status: voided ? "voided" : "completed",
        voidedAt: voided ? createdAt : null,
      }),
    ];
  });
}

/** Loop's view of the returns that have no tracking number at the shop: their label is known by the order. */
function loopReturns(): LoopReturn[] {
  return owners.flatMap(({ trackingNumber, orderId, orderName, createdAt, status }, index) => {
    if (trackingNumber !== null || status === "REQUESTED" || status === "DECLINED") return [];
    const rate = randomOf(index, 6).between(350, 1290);
    return [
      loopReturn({
        id: String(index + 1),
        providerOrderId: orderId.split("/").at(-1) ?? "",
        orderName,
        currency: currencyCode,
        createdAt,
        updatedAt: createdAt,
        labels: [{ rate, trackingNumber: `L${index + 1}`, status: "delivered" }],
      }),
    ];
  });
}

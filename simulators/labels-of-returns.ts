import { loopReturn } from "./loop/returns.ts";
import type { LoopReturn } from "./loop/returns.ts";
import { shipStationLabel } from "./shipstation/labels.ts";
import type { ShipStationLabel } from "./shipstation/labels.ts";
import type { LabelOwner } from "./shopify/label-owners.ts";
import { randomOf } from "./shopify/world/random.ts";

/** Labels of the shop's returns that have a tracking number; one in twenty was voided. */
export function shipStationLabelsOf(owners: readonly LabelOwner[], currencyCode: string): ShipStationLabel[] {
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
export function loopReturnsOf(owners: readonly LabelOwner[], currencyCode: string): LoopReturn[] {
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

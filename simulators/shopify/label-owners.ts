import { childNumber, gid } from "./world/ids.ts";
import type { World } from "./world/types.ts";

/** What a label source may know a return by. */
export interface LabelOwner {
  orderId: string;
  orderName: string;
  returnId: string;
  /** Of the first parcel. */
  trackingNumber: string | null;
  /** ISO 8601. */
  createdAt: string;
  status: string;
}

/** Every return of the shop, in the order of its orders. */
export function labelOwnersOf(world: World): LabelOwner[] {
  return world.orders.flatMap((order) =>
    (order?.returns ?? []).flatMap((request, index) =>
      order === null
        ? []
        : [
            {
              orderId: gid("Order", order.number),
              orderName: order.name,
              returnId: gid("Return", childNumber(order.number, index)),
              trackingNumber: request.trackingNumbers[0] ?? null,
              createdAt: new Date(request.createdAt * 1000).toISOString(),
              status: request.status,
            },
          ],
    ),
  );
}

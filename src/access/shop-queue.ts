import { traced } from "../lib/trace.ts";

const WAIT = { name: "wait for a turn", expects: (error: unknown) => error instanceof WorkspaceBusy };

/** Runs work of a shop when it is its turn. */
export type ShopQueue = <Result>(shopKey: number, work: () => Promise<Result>) => Promise<Result>;

/** It was not the work's turn within the longest wait. */
export class WorkspaceBusy extends Error {
  override name = "WorkspaceBusy";
}

type ShopQueueOptions = {
  /** How much work runs at once, of all shops. */
  places: number;
  /** How much of one shop. */
  mostPerShop: number;
  longestWaitMs: number;
};

type Shop = { running: number; waiting: (() => void)[] };

/**
 * Shares places among shops. Work of a shop starts in the order of its arrival; a free place goes to the shop with the
 * least running, then to the one that waits longest. All but the first of a shop leaves half of the places free, so that
 * a few busy shops cannot take them all.
 */
export function createShopQueue({ places, mostPerShop, longestWaitMs }: ShopQueueOptions): ShopQueue {
  // In the order in which shops were last given a place.
  const shops = new Map<number, Shop>();
  let running = 0;
  const mayStart = (shop: Shop): boolean =>
    running < places && (shop.running === 0 || (shop.running < mostPerShop && running < places / 2));
  const start = (shopKey: number, shop: Shop): void => {
    shop.running += 1;
    running += 1;
    shops.delete(shopKey);
    shops.set(shopKey, shop);
  };
  const startWaiting = (): void => {
    let next: [number, Shop] | undefined;
    for (const entry of shops) {
      const [, shop] = entry;
      if (shop.waiting.length === 0 || !mayStart(shop)) continue;
      if (next === undefined || shop.running < next[1].running) next = entry;
    }
    if (next === undefined) return;
    start(...next);
    next[1].waiting.shift()?.();
    startWaiting();
  };
  const forgetIdle = (shopKey: number, shop: Shop): void => {
    if (shop.running === 0 && shop.waiting.length === 0) shops.delete(shopKey);
  };
  return async (shopKey, work) => {
    const shop = shops.get(shopKey) ?? { running: 0, waiting: [] };
    shops.set(shopKey, shop);
    if (shop.waiting.length === 0 && mayStart(shop)) start(shopKey, shop);
    else await traced(WAIT, () => turnOf(shop, longestWaitMs)).finally(() => forgetIdle(shopKey, shop));
    try {
      return await work();
    } finally {
      running -= 1;
      shop.running -= 1;
      forgetIdle(shopKey, shop);
      startWaiting();
    }
  };
}

function turnOf({ waiting }: Shop, longestWaitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(start), 1);
      reject(new WorkspaceBusy(`no turn within ${longestWaitMs} ms`));
    }, longestWaitMs);
    const start = (): void => {
      clearTimeout(timer);
      resolve();
    };
    waiting.push(start);
  });
}

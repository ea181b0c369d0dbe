/** How a simulated shop is started; every field has a default. */
export interface ShopifyOptions {
  seed: number;
  orders: number;
  products: number;
  /**
   * Events of orders: a plain shop has edits, refunds and returns; a full one every event of the platform, as listed
   * in README.md.
   */
  histories: "plain" | "full";
  /** ISO 8601: the end of the shop's orders. */
  now: string;
  /** How many days the orders cover. */
  historyDays: number;
  /** Whether the simulator's time runs on from `now`, or stands still until it is moved. */
  ticking: boolean;
  /** Simulated seconds per real second. */
  speed: number;
  port: number;
  currencyCode: string;
  domain: string;
  clientId: string;
  clientSecret: string;
  /** The lasting token of a custom app. */
  token: string;
  scopes: string[];
  /** Points in the bucket, and points that come back each second. */
  bucketPoints: number;
  restorePerSecond: number;
  /** How a connection's cost grows with its page: as measured on the platform, or per object. */
  connectionCost: "logarithmic" | "linear";
  /** The least time that a bulk operation is CREATED and then RUNNING. */
  bulkMillis: number;
  /** Whether webhooks are sent at once; otherwise they wait for the control action `deliver`. */
  deliverAtOnce: boolean;
}

export function shopifyOptions(given: Partial<ShopifyOptions>): ShopifyOptions {
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return {
    seed: 1,
    orders: 1000,
    products: 120,
    histories: "plain",
    now: new Date().toISOString(),
    historyDays: 730,
    ticking: given.now === undefined,
    speed: 1,
    port: 0,
    currencyCode: "EUR",
    domain: "simulated-shop.myshopify.com",
    clientId: "simulated-client-id",
    clientSecret: "simulated-client-secret",
    token: "shpat_simulated_lasting_token",
    scopes: ["read_orders", "read_all_orders", "read_returns", "read_products"],
    bucketPoints: 2000,
    restorePerSecond: 100,
    connectionCost: "logarithmic",
    bulkMillis: 50,
    deliverAtOnce: false,
    ...defined,
  };
}

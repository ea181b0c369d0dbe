import { mulberry32 } from "../../src/demo/random.ts";

/** One return of a simulated Loop account; times are ISO 8601. */
export interface LoopReturn {
  id: string;
  providerOrderId: string;
  orderName: string;
  currency: string;
  createdAt: string;
  updatedAt: string;
  labels: LoopLabel[];
  /** Decimal text, as older accounts have it beside or in place of `labels`. */
  labelRate: string | null;
  /** The label's where `labels` is empty. */
  trackingNumber: string | null;
  labelStatus: string | null;
}

export interface LoopLabel {
  /** In cents; null = not priced yet. */
  rate: number | string | null;
  trackingNumber: string | null;
  status: string;
  createdAt?: string;
}

/** A return with what is told of it; the rest is that of an open return without a label. */
export function loopReturn(told: Partial<LoopReturn> & Pick<LoopReturn, "id">): LoopReturn {
  const createdAt = told.createdAt ?? "2026-01-10T12:00:00.000Z";
  return {
    providerOrderId: "1",
    orderName: "#1",
    currency: "EUR",
    createdAt,
    updatedAt: createdAt,
    labels: [],
    labelRate: null,
    trackingNumber: null,
    labelStatus: null,
    ...told,
  };
}

const DAY_MS = 86_400_000;

/** Returns of a year, most of them with a label; the same for the same seed. */
export function generateLoopReturns(options: {
  seed: number;
  count: number;
  currencyCode: string;
  now: string;
}): LoopReturn[] {
  const random = mulberry32(options.seed);
  const end = Date.parse(options.now);
  return Array.from({ length: options.count }, (_, index) => {
    const created = end - Math.floor(((options.count - index) / options.count) * 365 * DAY_MS);
    const trackingNumber = `94${String(options.seed).padStart(4, "0")}${String(index).padStart(12, "0")}`;
    const rate = 300 + Math.floor(random() * 1500);
    return loopReturn({
      id: String(500_000 + index),
      providerOrderId: String(6_000_000_000_000 + index),
      orderName: `#${1001 + index}`,
      currency: options.currencyCode,
      createdAt: new Date(created).toISOString(),
      updatedAt: new Date(Math.min(end, created + 4 * DAY_MS)).toISOString(),
      labels: random() < 0.9 ? [{ rate, trackingNumber, status: "in_transit" }] : [],
    });
  });
}

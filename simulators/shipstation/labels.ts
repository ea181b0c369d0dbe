import { mulberry32 } from "../../src/demo/random.ts";

/** One label of a simulated ShipStation account; times are ISO 8601. */
export interface ShipStationLabel {
  labelId: string;
  isReturnLabel: boolean;
  createdAt: string;
  /** Never returned by the API; the list is sorted by it. */
  modifiedAt: string;
  amount: number;
  /** As the API writes it: lower-case. */
  currency: string;
  trackingNumber: string | null;
  rmaNumber: string | null;
  chargeEvent: "carrier_default" | "on_creation" | "on_carrier_acceptance";
  status: "processing" | "completed" | "error" | "voided";
  trackingStatus: "unknown" | "in_transit" | "error" | "delivered";
  scannedAt: string | null;
  voidedAt: string | null;
}

/** A label with what is told of it; the rest is that of a plain return label, charged on creation. */
export function shipStationLabel(
  told: Partial<ShipStationLabel> & Pick<ShipStationLabel, "labelId">,
): ShipStationLabel {
  const createdAt = told.createdAt ?? "2026-01-10T12:00:00.000Z";
  return {
    isReturnLabel: true,
    createdAt,
    modifiedAt: told.scannedAt ?? createdAt,
    amount: 5,
    currency: "eur",
    trackingNumber: null,
    rmaNumber: null,
    chargeEvent: "on_creation",
    status: "completed",
    trackingStatus: told.scannedAt === undefined || told.scannedAt === null ? "unknown" : "in_transit",
    scannedAt: null,
    voidedAt: null,
    ...told,
  };
}

export interface GeneratedLabels {
  seed: number;
  count: number;
  currency: string;
  /** The newest label's day; the others lie in the year before. */
  now: string;
}

const DAY_MS = 86_400_000;

/** Labels of a year, two thirds of them outbound; the same for the same seed. */
export function generateShipStationLabels(options: GeneratedLabels): ShipStationLabel[] {
  const random = mulberry32(options.seed);
  const end = Date.parse(options.now);
  return Array.from({ length: options.count }, (_, index) => {
    const created = end - Math.floor(((options.count - index) / options.count) * 365 * DAY_MS);
    const createdAt = new Date(created).toISOString();
    const isScanned = random() < 0.8 && created < end - 3 * DAY_MS;
    return shipStationLabel({
      labelId: `se-${100_000 + index}`,
      isReturnLabel: index % 3 === 0,
      createdAt,
      amount: (300 + Math.floor(random() * 1500)) / 100,
      currency: options.currency.toLowerCase(),
      trackingNumber: `1Z${String(options.seed).padStart(4, "0")}${String(index).padStart(10, "0")}`,
      chargeEvent: random() < 0.3 ? "on_carrier_acceptance" : "on_creation",
      scannedAt: isScanned ? new Date(created + 2 * DAY_MS).toISOString() : null,
    });
  });
}

import { mulberry32 } from "../../../src/demo/random.ts";
import { accountOptions, BadRequest, momentsOf, startLabelServer } from "../label-source/server.ts";
import type { AccountOptions, Platform } from "../label-source/server.ts";

export type ShipStationSimulator = Awaited<ReturnType<typeof startShipStationSimulator>>;

/** ShipStation's label API V2 on loopback, with given labels or those of a seed. */
export async function startShipStationSimulator(
  given: Partial<AccountOptions & { labels: readonly SimulatedLabel[] }> = {},
) {
  const options = accountOptions(DEFAULTS, given);
  const byId = new Map(
    (given.labels ?? generateShipStationLabels(options)).map((label) => [label.labelId, label]),
  );
  /** Sorted lists are kept, since sorting a large account for every page would take the most time. */
  const sorted = new Map<string, SimulatedLabel[]>();
  const server = await startLabelServer(platformOf(byId, sorted), options);
  const put = (label: SimulatedLabel): void => {
    byId.set(label.labelId, label);
    sorted.clear();
  };
  const change = (labelId: string, changes: Partial<SimulatedLabel>): void => {
    const label = byId.get(labelId);
    if (label === undefined) throw new Error(`There is no label ${labelId}.`);
    put({ ...label, ...changes });
  };
  return {
    url: server.url,
    apiKey: options.apiKey,
    control: {
      /** Adds a label, or replaces the one with its id. */
      put,
      void: (labelId: string, at: string) =>
        change(labelId, { status: "voided", voidedAt: at, modifiedAt: at }),
      /** The carrier's first scan. */
      scan: (labelId: string, at: string) =>
        change(labelId, { trackingStatus: "in_transit", scannedAt: at, modifiedAt: at }),
      labels: (): readonly SimulatedLabel[] => [...byId.values()],
      ...server.control,
    },
    stop: server.stop,
  };
}

const DEFAULTS = { apiKey: "simulated-shipstation-key", count: 300, requests: 200 };

const TRACK_PATH = /^\/v2\/labels\/([^/]+)\/track$/u;

type Labels = Map<string, SimulatedLabel>;

function platformOf(byId: Labels, sorted: Map<string, SimulatedLabel[]>): Platform {
  return {
    header: "api-key",
    refusal: errorBody("unauthorized", "The API key is invalid."),
    tooMany: errorBody("rate_limit_exceeded", "Rate limit exceeded."),
    notFound: errorBody("not_found", "Resource not found."),
    serverError: errorBody("unspecified", "An unexpected error occurred."),
    answer: (url) => {
      if (url.pathname === "/v2/labels") return listPage(byId, sorted, url);
      const label = byId.get(decodeURIComponent(TRACK_PATH.exec(url.pathname)?.[1] ?? ""));
      return label === undefined ? null : tracking(label);
    },
    changeTypes: (page) => ({ ...(page as object), labels: "none" }),
  };
}

function errorBody(code: string, message: string): unknown {
  return {
    request_id: "00000000-0000-0000-0000-000000000000",
    errors: [{ error_source: "shipstation", error_type: "security", error_code: code, message }],
  };
}

function listPage(byId: Labels, sorted: Map<string, SimulatedLabel[]>, url: URL): unknown {
  const number = (name: string, fallback: number): number => {
    const value = Number(url.searchParams.get(name) ?? fallback);
    if (!Number.isInteger(value) || value < 1) {
      throw new BadRequest(400, errorBody("invalid_field_value", `${name} is invalid.`));
    }
    return value;
  };
  const page = number("page", 1);
  const pageSize = Math.min(number("page_size", 25), 500);
  const since = Date.parse(url.searchParams.get("created_at_start") ?? "1970-01-01");
  const key = url.searchParams.get("sort_by") === "modified_at" ? "modifiedAt" : "createdAt";
  const direction = url.searchParams.get("sort_dir") === "asc" ? 1 : -1;
  const asked = [since, key, direction].join();
  const place = (label: SimulatedLabel): string => `${label[key]} ${label.labelId}`;
  const found =
    sorted.get(asked) ??
    [...byId.values()]
      .filter((label) => Date.parse(label.createdAt) >= since)
      .toSorted((left, right) => direction * (place(left) < place(right) ? -1 : 1));
  sorted.set(asked, found);
  return {
    labels: found.slice((page - 1) * pageSize, page * pageSize).map(wireLabel),
    total: found.length,
    page,
    pages: Math.ceil(found.length / pageSize),
    links: { first: {}, last: {}, prev: {}, next: {} },
  };
}

function wireLabel(label: SimulatedLabel): unknown {
  return {
    label_id: label.labelId,
    status: label.status,
    shipment_id: label.labelId,
    ship_date: `${label.createdAt.slice(0, 10)}T00:00:00Z`,
    created_at: label.createdAt,
    shipment_cost: { currency: label.currency, amount: label.amount },
    insurance_cost: { currency: label.currency, amount: 0 },
    tracking_number: label.trackingNumber,
    is_return_label: label.isReturnLabel,
    rma_number: label.rmaNumber,
    is_international: false,
    batch_id: "",
    carrier_id: "se-1",
    charge_event: label.chargeEvent,
    service_code: "usps_ground_advantage",
    package_code: "package",
    voided: label.voidedAt !== null,
    voided_at: label.voidedAt,
    trackable: true,
    carrier_code: "stamps_com",
    tracking_status: label.trackingStatus,
  };
}

function tracking(label: SimulatedLabel): unknown {
  const event = (at: string, code: string) => ({ occurred_at: at, status_code: code, city_locality: "" });
  return {
    tracking_number: label.trackingNumber,
    status_code: label.scannedAt === null ? "UN" : "IT",
    shipped_date: label.scannedAt,
    events: [
      ...(label.scannedAt === null
        ? []
        : [
            event(new Date(Date.parse(label.scannedAt) + 86_400_000).toISOString(), "IT"),
            event(label.scannedAt, "AC"),
          ]),
      event(label.createdAt, "NY"),
    ],
  };
}

/** One label of a simulated ShipStation account; times are ISO 8601. */
export interface SimulatedLabel {
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

/** A label with the given members; by default a plain return label, charged on creation. */
export function shipStationLabel(
  told: Partial<SimulatedLabel> & Pick<SimulatedLabel, "labelId">,
): SimulatedLabel {
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

/** Labels of a year, two thirds of them outbound; the same for the same seed. */
export function generateShipStationLabels(
  options: Pick<AccountOptions, "seed" | "count" | "currencyCode" | "now">,
): SimulatedLabel[] {
  const random = mulberry32(options.seed);
  return momentsOf(options).map((created, index) => {
    const isScanned = random() < 0.8 && created < Date.parse(options.now) - 3 * 86_400_000;
    return shipStationLabel({
      labelId: `se-${100_000 + index}`,
      isReturnLabel: index % 3 === 0,
      createdAt: new Date(created).toISOString(),
      amount: (300 + Math.floor(random() * 1500)) / 100,
      currency: options.currencyCode.toLowerCase(),
      trackingNumber: `1Z${String(options.seed).padStart(4, "0")}${String(index).padStart(10, "0")}`,
      chargeEvent: random() < 0.3 ? "on_carrier_acceptance" : "on_creation",
      scannedAt: isScanned ? new Date(created + 2 * 86_400_000).toISOString() : null,
    });
  });
}

import Type, { type Static } from "typebox";
import { SourceFailed } from "../../connector.ts";
import {
  Amount,
  Currency,
  Filled,
  Flag,
  nullable,
  object,
  optional,
  reader,
  Text,
  Time,
  Whole,
} from "../shared/foreign.ts";
import { getJson, type JsonSource } from "../shared/http.ts";

export const TITLE = "ShipStation";

/** The checked members of every label in the list. */
const LABEL = object("Label", {
  label_id: Filled,
  status: Filled,
  tracking_status: nullable(Text),
  is_return_label: nullable(Flag),
  test_label: nullable(Flag),
  voided: nullable(Flag),
  shipment_cost: nullable(Type.Object({ amount: Type.Unknown() }, { required: [] })),
});

/** The members of a return label that has a price. */
const PRICED_LABEL = object("Label", {
  ...LABEL.properties,
  created_at: Time,
  charge_event: nullable(Text),
  rma_number: nullable(Text),
  tracking_number: nullable(Text),
  voided_at: optional(Time),
  shipment_cost: object("Price", { currency: Currency, amount: Type.Intersect([Type.Number(), Amount]) }),
});

const TRACKING = object("Tracking", {
  shipped_date: optional(Time),
  events: nullable(
    Type.Array(object("TrackingEvent", { status_code: nullable(Text), occurred_at: optional(Time) })),
  ),
});

export type ShipStationLabel = Static<typeof LABEL>;
export type PricedLabel = Static<typeof PRICED_LABEL>;
export type Tracking = Static<typeof TRACKING>;

export const readLabel = reader(TITLE, LABEL);
export const readPricedLabel = reader(TITLE, PRICED_LABEL);
export const readTracking = reader(TITLE, TRACKING);
const readPage = reader(
  TITLE,
  object("LabelList", { labels: Type.Array(LABEL), total: Whole, pages: Whole }),
);

/** One page of the labels created since a moment (ISO 8601), the one modified last first. */
type LabelListPage = { labels: ShipStationLabel[]; total: number; isLast: boolean };

/** Asks ShipStation's API V2, 200 requests a minute. Throws as `getJson`, and `SourceFailed` for answers of another form. */
export type ShipStationClient = {
  listLabels(createdSince: string, page: number): Promise<LabelListPage>;
  /** The carrier's report on one label. */
  track(labelId: string): Promise<Tracking>;
};

export function openShipStation(source: JsonSource, pageSize: number): ShipStationClient {
  return {
    listLabels: async (createdSince, page) => {
      const url = new URL("v2/labels", source.baseUrl);
      url.search = new URLSearchParams({
        created_at_start: createdSince,
        sort_by: "modified_at",
        sort_dir: "desc",
        page: String(page),
        page_size: String(pageSize),
      }).toString();
      const { labels, ...answer } = readPage(await getJson(source, url));
      const pages = Number(answer.pages);
      if (labels.length === 0 && page < pages) {
        throw new SourceFailed(`${TITLE} sent an empty page ${page} of ${pages}.`);
      }
      return { labels, total: Number(answer.total), isLast: page >= pages };
    },
    track: async (labelId) => {
      const url = new URL(`v2/labels/${encodeURIComponent(labelId)}/track`, source.baseUrl);
      return readTracking(await getJson(source, url));
    },
  };
}

import { SourceFailed } from "../../connector.ts";
import { CHECK_PATIENCE, getJson, PATIENCE, readApiKey, readBaseUrl } from "../kit/http-json.ts";
import type { JsonSource, Patience } from "../kit/http-json.ts";
import { readFields } from "../kit/said-fields.ts";
import type { SaidFields } from "../kit/said-fields.ts";

export const TITLE = "ShipStation";

const HOSTS = ["api.shipstation.com"] as const;

export type ShipStationOptions = { pageSize: number; patience: Patience };

export const SHIPSTATION_OPTIONS: ShipStationOptions = { pageSize: 100, patience: PATIENCE };

/** One page of the labels created since a moment (ISO 8601), the one modified last first. */
export type LabelListPage = { labels: SaidFields[]; total: number; isLast: boolean };

/**
 * Asks ShipStation's API V2, 200 requests a minute. `url` null = ShipStation itself. Throws as `getJson`, and
 * `SourceFailed` for answers of another form.
 */
export type ShipStationClient = {
  listLabels(createdSince: string, page: number): Promise<LabelListPage>;
  /** What the carrier reported of one label. */
  track(labelId: string): Promise<SaidFields>;
};

export function openShipStation(
  place: { url: unknown; apiKey: string | undefined; signal: AbortSignal },
  options: ShipStationOptions,
): ShipStationClient {
  const source: JsonSource = {
    title: TITLE,
    keyPlace: "Settings → API Settings",
    baseUrl: readBaseUrl(place.url, HOSTS, TITLE),
    headers: { "api-key": readApiKey(place.apiKey, TITLE) },
    signal: place.signal,
    patience: options.patience,
  };
  return {
    listLabels: async (createdSince, page) => {
      const url = new URL("v2/labels", source.baseUrl);
      url.search = new URLSearchParams({
        created_at_start: createdSince,
        sort_by: "modified_at",
        sort_dir: "desc",
        page: String(page),
        page_size: String(options.pageSize),
      }).toString();
      const answer = readFields(await getJson(source, url), TITLE, "a page of labels");
      const labels = answer.list("labels");
      const pages = answer.count("pages");
      if (labels.length === 0 && page < pages) {
        throw new SourceFailed(`${TITLE} sent an empty page ${page} of ${pages}.`);
      }
      return { labels, total: answer.count("total"), isLast: page >= pages };
    },
    track: async (labelId) => {
      const url = new URL(`v2/labels/${encodeURIComponent(labelId)}/track`, source.baseUrl);
      return readFields(await getJson(source, url), TITLE, "a tracking");
    },
  };
}

/** One small request with the credentials. Throws `SourceRefused` or `SourceFailed` when labels cannot be read. */
export async function checkShipStation(place: {
  url?: unknown;
  apiKey: string;
  signal: AbortSignal;
}): Promise<void> {
  const client = openShipStation(
    { url: place.url, apiKey: place.apiKey, signal: place.signal },
    { pageSize: 1, patience: CHECK_PATIENCE },
  );
  await client.listLabels("2000-01-01T00:00:00.000Z", 1);
}

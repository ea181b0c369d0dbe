import type { AlertRow } from "../store/queries/alerts.ts";
import { alertLink } from "./alert-link.ts";
import type { AlertLink } from "./alert-link.ts";

/** Where links of alerts lead; `consoleAddress` null = there is no console that others reach. */
export type AlertPlace = { consoleAddress: string | null; shopDomain: string };

/** An alert as the API gives it and as webhooks receive it: one place, so that their JSON is equal. */
export type FeedAlert = ReturnType<typeof feedAlert>;

/** An alert that was stored without a link gets that of the console's page. */
export function feedAlert(row: AlertRow, place: AlertPlace) {
  const link = linkOf(row, place);
  return {
    id: row.alert_id,
    category: row.category,
    severity: row.severity,
    title: row.title,
    body: row.body,
    link_url: link?.url ?? null,
    link_label: link?.label ?? null,
    metadata: row.metadata,
    created_at: row.created_at.toISOString(),
  };
}

function linkOf(row: AlertRow, { consoleAddress, shopDomain }: AlertPlace): AlertLink | null {
  const { link_url: url, link_label: label } = row;
  if (url !== null || consoleAddress === null) return { url, label };
  return alertLink(row, { consoleAddress, shopDomain });
}

import { alertView } from "../contract/alert-view.ts";
import type { AlertRow } from "../store/queries/alerts.ts";

/** Where an alert leads, and what the link is called. */
export type AlertLink = { url: string | null; label: string | null };

/**
 * The page of the console that shows what an alert is about; null for an alert of a category that this service does not
 * write. `consoleAddress` is the origin of the console.
 */
export function alertLink(
  alert: Pick<AlertRow, "category" | "metadata">,
  { consoleAddress, shopDomain }: { consoleAddress: string; shopDomain: string },
): AlertLink | null {
  const view = alertView(alert);
  if (view === null) return null;
  const workspace = `${consoleAddress}/w/${encodeURIComponent(shopDomain)}`;
  if (view.path === "") return { url: workspace, label: "Open the overview" };
  const query = new URLSearchParams(view.parameters).toString();
  return { url: `${workspace}${view.path}?${query}`, label: "Open the report" };
}

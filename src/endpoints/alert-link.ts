import type { AlertRow } from "../store/queries/alerts.ts";

/** Where an alert leads, and what the link is called. */
export type AlertLink = { url: string | null; label: string | null };

type Metadata = Readonly<Record<string, unknown>>;

const SELECTOR_NAMES = ["sku", "product_gid", "product_group_type", "product_group_key"];

/**
 * The page of the console that shows what an alert is about; null for an alert of a category that this service does not
 * write. `consoleAddress` is the origin of the console.
 */
export function alertLink(
  { category, metadata }: Pick<AlertRow, "category" | "metadata">,
  { consoleAddress, shopDomain }: { consoleAddress: string; shopDomain: string },
): AlertLink | null {
  const workspace = `${consoleAddress}/w/${encodeURIComponent(shopDomain)}`;
  if (category === "connection_stale" || category === "backfill_completed") {
    return { url: workspace, label: "Open the overview" };
  }
  const parameters = reportParameters(category, metadata ?? {});
  if (parameters === null) return null;
  return {
    url: `${workspace}/report?${new URLSearchParams(parameters).toString()}`,
    label: "Open the report",
  };
}

/** The report whose figures an alert names; null = the alert names none. */
function reportParameters(category: string, metadata: Metadata): Record<string, string> | null {
  if (category === "report_ready") return monthsOf(metadata["cohort_month"], metadata["cohort_month"]);
  if (category !== "return_rate_watchlist") return null;
  const isEarly = metadata["kind"] === "early_warning";
  const months = isEarly
    ? monthsOf(metadata["ordered_from"], metadata["ordered_to"])
    : monthsOf(metadata["cohort_month"], metadata["cohort_month"]);
  if (months === null) return null;
  const selector = SELECTOR_NAMES.flatMap((name): [string, string][] => {
    const value = metadata[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  // Early warnings are about orders whose window is still open.
  const young = isEarly ? { include_incomplete: "true", reportSection: "reasons" } : {};
  return { ...Object.fromEntries(selector), ...months, ...young };
}

/** Of two months or days, both of which a report includes. */
function monthsOf(from: unknown, to: unknown): { start_month: string; end_month: string } | null {
  if (typeof from !== "string" || typeof to !== "string") return null;
  return { start_month: from.slice(0, 7), end_month: to.slice(0, 7) };
}

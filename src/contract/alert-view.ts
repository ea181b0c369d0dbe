/** The page of a workspace that shows an alert's subject, with its query. `path` is below the workspace; "" = its overview. */
export type AlertView = { path: "" | "/report"; parameters: Readonly<Record<string, string>> };

type Metadata = Readonly<Record<string, unknown>>;

const SELECTOR_NAMES = ["sku", "product_gid", "product_group_type", "product_group_key"];

/** Where an alert leads, in its link_url and on pages; null for one of a category that this service does not write. */
export function alertView({
  category,
  metadata,
}: {
  category: string;
  metadata?: Metadata | null;
}): AlertView | null {
  if (category === "connection_stale" || category === "backfill_completed")
    return { path: "", parameters: {} };
  const parameters = reportParameters(category, metadata ?? {});
  return parameters === null ? null : { path: "/report", parameters };
}

/** The report whose figures an alert names; null = the alert names none. */
function reportParameters(category: string, metadata: Metadata): Record<string, string> | null {
  if (category === "report_ready") return monthsOf(metadata["cohort_month"], metadata["cohort_month"]);
  if (category !== "return_rate_watchlist") return null;
  const isEarly = metadata["kind"] === "early_warning";
  const isEnded = metadata["kind"] === "ended";
  const months = isEarly
    ? monthsOf(metadata["ordered_from"], metadata["ordered_to"])
    : isEnded
      ? monthsOf(metadata["started_on"], metadata["ended_on"])
      : monthsOf(metadata["cohort_month"], metadata["cohort_month"]);
  if (months === null) return null;
  const selector = SELECTOR_NAMES.flatMap((name): [string, string][] => {
    const value = metadata[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  // They are about orders whose window is still open.
  const young = {
    ...(isEarly || isEnded ? { include_incomplete: "true" } : {}),
    ...(isEarly ? { reportSection: "reasons" } : {}),
  };
  return { ...Object.fromEntries(selector), ...months, ...young };
}

/** Months of a range between two months or days, both included in a report. */
function monthsOf(from: unknown, to: unknown): { start_month: string; end_month: string } | null {
  if (typeof from !== "string" || typeof to !== "string") return null;
  return { start_month: from.slice(0, 7), end_month: to.slice(0, 7) };
}

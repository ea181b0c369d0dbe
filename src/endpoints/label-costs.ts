import type { Workspace } from "../store/workspace.ts";

/**
 * M10: whether label costs are included: there is a label source, and every one of them is connected, has synced once,
 * has not failed and charges in the shop's currency.
 */
export function labelCostsIncluded({
  sources,
  currencyCode,
}: Pick<Workspace, "sources" | "currencyCode">): boolean {
  const labelSources = sources.filter((source) => source.kind === "label_cost");
  return (
    labelSources.length > 0 &&
    labelSources.every(
      (source) =>
        source.status !== "disconnected" &&
        source.status !== "failed" &&
        source.lastSyncedAt !== null &&
        source.currencyCode === currencyCode,
    )
  );
}

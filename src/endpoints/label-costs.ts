import { areLabelCostsIncluded } from "../metrics/label.ts";
import type { Workspace } from "../store/workspace.ts";

/** M10: whether an answer includes label costs. */
export function labelCostsIncluded(workspace: Pick<Workspace, "sources" | "currencyCode">): boolean {
  const sources = workspace.sources
    .filter((source) => source.kind === "label_cost")
    .map((source) => ({
      connected: source.status !== "disconnected",
      lastSucceeded: source.lastSyncedAt !== null,
      failedOrRevoked: source.status === "failed",
      currency: source.currencyCode,
    }));
  return areLabelCostsIncluded(sources, workspace.currencyCode);
}

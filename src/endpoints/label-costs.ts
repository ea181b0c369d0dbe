import { isLabelSourceUsable } from "../metrics/label.ts";
import type { Workspace } from "../store/workspace.ts";

/** M10: whether label costs are included: there is a label source, and every one of them is usable. */
export function labelCostsIncluded(workspace: Pick<Workspace, "sources" | "currencyCode">): boolean {
  const sources = workspace.sources.filter((source) => source.kind === "label_cost");
  return (
    sources.length > 0 &&
    sources.every((source) =>
      isLabelSourceUsable(
        {
          connected: source.status !== "disconnected",
          lastSucceeded: source.lastSyncedAt !== null,
          failedOrRevoked: source.status === "failed",
          currency: source.currencyCode,
        },
        workspace.currencyCode,
      ),
    )
  );
}

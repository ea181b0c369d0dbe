import { areLabelCostsIncluded } from "../metrics/label.ts";
import type { Workspace } from "../store/workspace.ts";

/** M10: whether an answer includes label costs. */
export function labelCostsIncluded({
  sources,
  currencyCode,
}: Pick<Workspace, "sources" | "currencyCode">): boolean {
  return areLabelCostsIncluded(sources, currencyCode);
}

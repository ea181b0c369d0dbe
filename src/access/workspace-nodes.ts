import type { Queryable } from "../store/database.ts";
import { findWorkspaceNode, type WorkspaceNodeRow } from "../store/queries/distribute.ts";

/** The node of a Citus cluster that has a workspace's rows, and their shard. */
export type NodeOfWorkspace = (shopKey: number) => Promise<WorkspaceNodeRow>;

/** Shards move now and then; until that is noticed, a call runs on the wrong node, which is slower but as exact. */
const REMEMBERED_MS = 600_000;
const MOST_SHOPS = 100_000;

/** Looks up a workspace's node at its first use, and again after some minutes. */
export function createWorkspaceNodes(database: Queryable): NodeOfWorkspace {
  const nodes = new Map<number, Promise<WorkspaceNodeRow>>();
  let sinceMs = performance.now();
  return (shopKey) => {
    const known = nodes.get(shopKey);
    const isOld = performance.now() - sinceMs > REMEMBERED_MS;
    if (known !== undefined && !isOld) return known;
    if (isOld || nodes.size >= MOST_SHOPS) {
      nodes.clear();
      sinceMs = performance.now();
    }
    const node = findWorkspaceNode(database, shopKey);
    nodes.set(shopKey, node);
    node.catch(() => nodes.delete(shopKey));
    return node;
  };
}

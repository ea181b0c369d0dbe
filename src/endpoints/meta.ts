import { API_VERSION, type Endpoint } from "../contract/endpoint.ts";
import { entities } from "../contract/entities.ts";
import { staleForMs } from "../metrics/completeness.ts";
import type { Workspace } from "../store/workspace.ts";

/** The members of meta in every answer, before the endpoint's own echoes; the specification closes those of entities. */
export function baseMeta(workspace: Workspace, now: Date, { name }: Pick<Endpoint, "name">) {
  return {
    api_version: API_VERSION,
    organization_id: workspace.organizationId,
    shop_id: workspace.shopId,
    shop_domain: workspace.shopDomain,
    freshness: freshness(workspace, now),
    ...(name === entities.name ? {} : { data_as_of: workspace.dataAsOf?.toISOString() ?? null }),
  };
}

/** Freshness of the numbers; a source is stale when it never synced, failed, or synced over 36 hours ago. */
function freshness(workspace: Workspace, now: Date) {
  let latest: Date | null = null;
  const sources = workspace.sources.map((source) => {
    const { lastSyncedAt, status } = source;
    if (lastSyncedAt !== null && (latest === null || lastSyncedAt > latest)) latest = lastSyncedAt;
    return {
      source: source.source,
      last_synced_at: lastSyncedAt?.toISOString() ?? null,
      status,
      stale: status === "failed" || status === "disconnected" || staleForMs(lastSyncedAt, now) !== null,
    };
  });
  return { data_updated_at: (latest as Date | null)?.toISOString() ?? null, sources };
}

import { query } from "../query.ts";
import type { SourceKind } from "./data-source.ts";
import type { RequestedBy, SyncKind } from "./sync-request.ts";
import type { RunStatus } from "./sync-run.ts";

/** A source of a workspace as its members see it: no secret is read. */
export type ShopSourceRow = {
  source: string;
  kind: SourceKind;
  /** false = it is imported by hand. */
  is_connection: boolean;
  has_credentials: boolean;
  status: "ok" | "syncing" | "failed" | "disconnected" | null;
  currency_code: string | null;
  last_synced_at: Date | null;
  last_error: string | null;
  settings: Record<string, unknown>;
  last_run: {
    kind: SyncKind;
    status: RunStatus;
    attempt: number;
    started_at: string;
    finished_at: string | null;
    stage: string | null;
    done: number;
    total: number | null;
    counts: Record<string, number>;
    notes: string[];
    error: string | null;
  } | null;
  /** What was asked for and has not succeeded yet, the next first. */
  waiting: {
    kind: SyncKind;
    requested_by: RequestedBy;
    failures: number;
    run_after: string;
    is_due: boolean;
  }[];
};

/** One row per source of a workspace, with its last run and what waits: primary keys, and sync_run_by_start. */
export const listShopSources = query<ShopSourceRow, [shopKey: number]>(
  "list_shop_sources",
  `select s.source, s.kind, s.is_connection, s.sealed_credentials is not null as has_credentials, s.status,
                s.currency_code, s.last_synced_at, s.last_error, s.settings,
                (select json_build_object('kind', r.kind, 'status', r.status, 'attempt', r.attempt,
                          'started_at', r.started_at, 'finished_at', r.finished_at, 'stage', r.stage, 'done', r.done,
                          'total', r.total, 'counts', r.counts, 'notes', r.notes, 'error', r.error)
                   from sync_run r where r.shop_key = $1 and r.source = s.source
                  order by r.started_at desc limit 1) as last_run,
                (select coalesce(json_agg(json_build_object('kind', q.kind, 'requested_by', q.requested_by,
                          'failures', q.failures, 'run_after', q.run_after,
                          'is_due', q.run_after <= clock_timestamp()) order by q.run_after, q.kind), '[]')
                   from sync_request q where q.shop_key = $1 and q.source = s.source) as waiting
           from data_source s where s.shop_key = $1
          order by s.source`,
);

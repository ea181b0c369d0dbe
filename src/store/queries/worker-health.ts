import { query, requireValue } from "../query.ts";
import type { SourceKind } from "./data-source.ts";
import type { SyncKind } from "./sync-request.ts";
import type { RunStatus } from "./sync-run.ts";

/** The name of a worker's session, which it always has. */
export const WORKER_APPLICATION = "returns-worker";

/** The key of the lock by which a worker's session claims a source, as SQL; both arguments are SQL, too. */
export const claimKey = (shopKey: string, source: string): string =>
  `hashtextextended('run of ' || ${source}, ${shopKey})`;

const SESSIONS = "from pg_stat_activity a where a.datname = current_database() and a.application_name = $1";

/** Whether a worker is connected to this database. */
export const hasWorker = requireValue<boolean>(
  "has_worker",
  `select exists (select ${SESSIONS}) as has_worker`,
  () => [WORKER_APPLICATION],
);

/** How many workers are connected to this server for this database. */
export const countWorkers = requireValue<number>(
  "count_workers",
  `select count(*) as workers ${SESSIONS}`,
  () => [WORKER_APPLICATION],
);

/** A connection as the health check sees it. */
export type ConnectionHealthRow = {
  shop_domain: string;
  source: string;
  kind: SourceKind;
  status: string | null;
  /** Of a label source whose labels are in another currency than the shop's. */
  foreign_currency_code: string | null;
  last_synced_at: Date | null;
  connected_at: Date;
  last_error: string | null;
  last_run: { kind: SyncKind; status: RunStatus; started_at: string; attempt: number } | null;
  /** Of the last 24 hours. */
  interrupted_runs: number;
  /** What the newest run of the last 24 hours that found such lines says of those that do not fit their sales ledger. */
  unbalanced_note: string | null;
  /** What waits for a worker, and how often it has failed in a row. */
  waiting: { kind: SyncKind; failures: number; run_after: string }[];
};

/** One row per connection of the installation, with its last run and what waits: sync_run_by_start. */
export const connectionHealth = query<ConnectionHealthRow>(
  "connection_health",
  `select w.shop_domain, s.source, s.kind, s.status,
                case when s.kind = 'label_cost' and s.currency_code <> w.currency_code
                     then s.currency_code end as foreign_currency_code,
                s.last_synced_at, s.created_at as connected_at, s.last_error,
                (select json_build_object('kind', r.kind, 'status', r.status, 'started_at', r.started_at,
                                          'attempt', r.attempt)
                   from sync_run r where r.shop_key = s.shop_key and r.source = s.source
                  order by r.started_at desc limit 1) as last_run,
                (select count(*) from sync_run r
                  where r.shop_key = s.shop_key and r.source = s.source and r.status = 'interrupted'
                    and r.started_at > clock_timestamp() - interval '24 hours') as interrupted_runs,
                (select n.note from sync_run r cross join unnest(r.notes) n (note)
                  where r.shop_key = s.shop_key and r.source = s.source and r.counts ? 'unbalanced_lines'
                    and n.note like '%sales ledger says%'
                    and r.started_at > clock_timestamp() - interval '24 hours'
                  order by r.started_at desc limit 1) as unbalanced_note,
                (select coalesce(json_agg(json_build_object('kind', q.kind, 'failures', q.failures,
                                                            'run_after', q.run_after) order by q.kind), '[]')
                   from sync_request q where q.shop_key = s.shop_key and q.source = s.source) as waiting
           from data_source s join workspace w on w.shop_key = s.shop_key
          where s.is_connection
          order by w.shop_domain, s.source`,
);

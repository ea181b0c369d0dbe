import { query, requireRow, requireValue } from "../query.ts";
import { CONNECTED_AT, IS_WANTED, type SourceKind } from "./data-source.ts";

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
  /** Of the last 24 hours; one that was handed on, by a worker that stops or after its turn, has no error and is none of them. */
  interrupted_runs: number;
  /** The note about lines that contradict their sales ledger, from the newest run of the last 24 hours that found any. */
  unbalanced_note: string | null;
  /** How often what waits for a worker has failed in a row. */
  failures: number;
  /** Connections that have a problem. */
  with_problems: number;
  /** The refused or stale ones among them, which come first. */
  broken: number;
};

/**
 * The first connections with a problem, those that are refused or stale before others: a scan of all connections;
 * sync_run_troubled, sync_run_unbalanced. `staleSince`: synced before then is too long ago.
 */
export const connectionHealth = query<
  ConnectionHealthRow,
  [limits: { staleSince: Date; interruptedRuns: number; most: number }]
>(
  "connection_health",
  `with interrupted as (
           select r.shop_key, r.source, count(*) as runs from sync_run r
            where r.status in ('failed', 'interrupted') and r.status = 'interrupted' and r.error is not null
              and r.started_at > clock_timestamp() - interval '24 hours'
            group by r.shop_key, r.source),
        unbalanced as (
           select distinct on (r.shop_key, r.source) r.shop_key, r.source, n.note
             from sync_run r cross join unnest(r.notes) n (note)
            where r.counts ? 'unbalanced_lines' and n.note like '%sales ledger says%'
              and r.started_at > clock_timestamp() - interval '24 hours'
            order by r.shop_key, r.source, r.started_at desc),
        connection as (
           select s.shop_key, w.shop_domain, s.source, s.kind, s.status, s.last_synced_at, s.last_error,
                  ${CONNECTED_AT} as connected_at, ${IS_WANTED} as is_wanted,
                  case when s.kind = 'label_cost' and s.currency_code <> w.currency_code then s.currency_code end
                    as foreign_currency_code,
                  coalesce(i.runs, 0) as interrupted_runs, u.note as unbalanced_note,
                  coalesce(s.last_synced_at, ${CONNECTED_AT}) < $1 as is_stale
             from data_source s
             join workspace w on w.shop_key = s.shop_key
             left join interrupted i on i.shop_key = s.shop_key and i.source = s.source
             left join unbalanced u on u.shop_key = s.shop_key and u.source = s.source
            where s.is_connection),
        troubled as (
           select c.*, c.is_wanted and (c.status is not distinct from 'disconnected' or c.is_stale) as is_broken
             from connection c
            where c.status in ('failed', 'disconnected') or c.last_error is not null or c.is_stale
               or c.foreign_currency_code is not null or c.interrupted_runs >= $2 or c.unbalanced_note is not null)
         select t.shop_domain, t.source, t.kind, t.status, t.foreign_currency_code, t.last_synced_at, t.connected_at,
                t.last_error, t.interrupted_runs, t.unbalanced_note,
                coalesce((select max(q.failures) from sync_request q
                           where q.shop_key = t.shop_key and q.source = t.source), 0) as failures,
                count(*) over () as with_problems, count(*) filter (where t.is_broken) over () as broken
           from troubled t order by t.is_broken desc, t.shop_domain, t.source limit $3`,
  ({ staleSince, interruptedRuns, most }) => [staleSince, interruptedRuns, most],
);

/** How many workspaces and connections there are. */
export const countInstallation = requireRow<{ workspaces: number; connections: number }>(
  "count_installation",
  `select (select count(*) from shop_directory) as workspaces,
                (select count(*) from data_source s where s.is_connection) as connections`,
);

import { command, query, queryRow } from "../query.ts";
import type { SourceKind } from "./data-source.ts";
import type { Connection } from "../database.ts";

/** Under this name the queue has the uploads of a workspace, as it has one of its sources. */
export const UPLOADS = "csv";

/** Under this name and its id the queue has an endpoint of alerts. */
export const PUSH = "push ";

/** Under this name the queue has the workspace itself: its alerts and its upkeep. */
export const WORKSPACE = "shop";

/** A source that a worker is to poll. */
export type QueuedRow = {
  shop_key: number;
  source: string;
  /** Names the state of the row that a poll has seen. */
  asked: number;
};

/** The sources and uploads, as the index run_queue_sources has them. */
export const OF_SOURCES = "q.kind in ('store', 'label_cost', 'upload')";

/** The due sources, longest overdue first, uploads before all others. run_queue_sources. */
export const listQueued = query<Pick<QueuedRow, "shop_key" | "source">, [most: number]>(
  "list_queued_sources",
  `select q.shop_key, q.source from run_queue q
          where q.due_at <= statement_timestamp() and ${OF_SOURCES} order by q.due_at limit $1`,
);

/** The due workspaces, longest overdue first: run_queue_shops. */
export const listQueuedWorkspaces = query<Pick<QueuedRow, "shop_key" | "source">, [most: number]>(
  "list_queued_workspaces",
  `select q.shop_key, q.source from run_queue q
          where q.due_at <= statement_timestamp() and q.kind = 'shop' order by q.due_at limit $1`,
);

/** The due endpoints, longest overdue first: run_queue_pushes. */
export const listQueuedPushes = query<
  Pick<QueuedRow, "shop_key" | "source" | "asked">,
  [now: Date, most: number]
>(
  "list_queued_pushes",
  `select q.shop_key, q.source, q.asked from run_queue q
          where q.due_at <= $1 and q.kind = 'push' order by q.due_at limit $2`,
);

/** A due source, read by the holder of its claim; null = another worker has polled it. Primary key. */
export const findQueued = queryRow<QueuedRow, [shopKey: number, source: string]>(
  "find_queued_source",
  `select q.shop_key, q.source, q.asked from run_queue q
          where q.shop_key = $1 and q.source = $2 and q.due_at <= statement_timestamp()`,
);

/** Adds a connection to the queue, to be polled by `dueAt`, null: on request. Idempotent. Primary key. */
export const queueConnection = command<
  [shopKey: number, source: string, kind: SourceKind, dueAt: Date | null]
>(
  "queue_connection",
  `insert into run_queue as q (shop_key, source, kind, due_at)
         values ($1, $2, $3, coalesce($4::timestamptz, 'infinity'))
         on conflict (shop_key, source) do update
            set kind = excluded.kind, due_at = least(q.due_at, excluded.due_at), asked = q.asked + 1
          where q.kind <> excluded.kind or q.due_at > excluded.due_at`,
);

/** Interval of workspace checks. */
export const CHECK_MS = 3_600_000;

/** Adds workspaces to the queue, each with its own moment of the hour; those that are there stay as they are. Primary key. */
export const queueWorkspaces = command<[shopKeys: readonly number[], now: Date]>(
  "queue_workspaces",
  `insert into run_queue (shop_key, source, kind, due_at)
         select s.shop_key, '${WORKSPACE}', 'shop', to_timestamp($2::float8 + (hashint8(s.shop_key) & 65535) / 65536.0::float8 * ${CHECK_MS / 1000})
           from unnest($1::bigint[]) s (shop_key)
         on conflict (shop_key, source) do nothing`,
  (shopKeys, now) => [shopKeys, now.getTime() / 1000],
);

/** Puts a workspace's uploads first in the queue, because somebody is waiting for them. Primary key. */
export const queueUploads = command<[shopKey: number]>(
  "queue_uploads",
  `insert into run_queue as q (shop_key, source, kind, due_at) values ($1, $2, 'upload', '-infinity')
         on conflict (shop_key, source) do update set due_at = excluded.due_at, asked = q.asked + 1`,
  (shopKey) => [shopKey, UPLOADS],
);

/** Puts an endpoint into the queue, to be polled by `dueAt`; null: on request. Primary key. */
export const queuePush = command<[shopKey: number, endpointId: string, dueAt: Date | null]>(
  "queue_push",
  `insert into run_queue as q (shop_key, source, kind, due_at) values ($1, $2, 'push', coalesce($3::timestamptz, 'infinity'))
         on conflict (shop_key, source) do update set due_at = least(q.due_at, excluded.due_at), asked = q.asked + 1`,
  (shopKey, endpointId, dueAt) => [shopKey, PUSH + endpointId, dueAt],
);

/** Schedules the endpoints of a workspace for `dueAt`, or earlier. Primary key. */
export const wakePushes = command<[shopKey: number, dueAt: Date]>(
  "wake_pushes",
  `update run_queue q set due_at = least(q.due_at, $2), asked = q.asked + 1
          where q.shop_key = $1 and q.kind = 'push'`,
);

/** Schedules a source for `dueAt`, or earlier. Primary key. */
export const wakeSource = command<[shopKey: number, source: string, dueAt: Date]>(
  "wake_source",
  `update run_queue q set due_at = least(q.due_at, $3), asked = q.asked + 1
          where q.shop_key = $1 and q.source = $2`,
);

/** Schedules everything of a workspace for now. Primary key. */
export const wakeWorkspace = command<[shopKey: number]>(
  "wake_workspace",
  "update run_queue q set due_at = '-infinity', asked = q.asked + 1 where q.shop_key = $1",
);

type Poll = Pick<QueuedRow, "shop_key" | "source" | "asked">;

/** Schedules the next poll; null = only on request. Does nothing if one was requested meanwhile. Primary key. */
export const finishPoll = command<[poll: Poll, nextAt: Date | null]>(
  "finish_poll",
  `update run_queue q set due_at = coalesce($4::timestamptz, 'infinity'), scheduled = '{}'
          where q.shop_key = $1 and q.source = $2 and q.asked = $3`,
  (poll, nextAt) => [poll.shop_key, poll.source, poll.asked, nextAt],
);

/** Retries a failed poll after a delay, together with newer requests. Primary key. */
export const postponePoll = command<[shopKey: number, source: string, delayMs: number]>(
  "postpone_poll",
  `update run_queue q set due_at = statement_timestamp() + $3 * interval '1 millisecond'
          where q.shop_key = $1 and q.source = $2`,
);

/** Removes a connection that no longer exists, or an upload that does not wait. Does nothing if it was requested meanwhile. */
export const leaveQueue = command<[poll: Poll]>(
  "leave_queue",
  "delete from run_queue q where q.shop_key = $1 and q.source = $2 and q.asked = $3",
  (poll) => [poll.shop_key, poll.source, poll.asked],
);

/** Removes the sources and uploads of a workspace from the queue; its endpoints and its own row stay. Primary key. */
export const leaveQueueWithSources = command<[shopKey: number]>(
  "leave_queue_with_sources",
  `delete from run_queue q where q.shop_key = $1 and ${OF_SOURCES}`,
);

/** Removes a workspace from the queue. Primary key. */
export const leaveQueueWithWorkspace = command<[shopKey: number]>(
  "leave_queue_with_workspace",
  "delete from run_queue q where q.shop_key = $1",
);

/** When each connection of a workspace is polled next; those that wait for a person are left out. Primary key. */
export const listNextPolls = query<{ source: string; next_at: Date }, [shopKey: number]>(
  "list_next_polls",
  `select q.source, q.due_at as next_at from run_queue q
          where q.shop_key = $1 and q.kind in ('store', 'label_cost') and isfinite(q.due_at)`,
);

/** A task, and when it was due last. The other rows of `schedule` are for workers of the version before. */
type DueTaskRow = { task: "upkeep"; due_at: Date };

/** The task, if it is due and no other worker does it now, its row locked to the end of the transaction; null = it is not. */
export const takeDueTask = queryRow<DueTaskRow>(
  "take_due_task",
  `select d.task, d.due_at
           from schedule s
           join lateral (select s.task, date_bin(s.period, statement_timestamp(), s.first_at) as due_at) d on true
          where s.task = 'upkeep' and d.due_at > s.done_until
            for update of s skip locked`,
);

/** The task is not due again before its next time. Primary key. */
export const finishTask = command<[due: DueTaskRow], Connection>(
  "finish_task",
  "update schedule s set done_until = $2 where s.task = $1",
  (due) => [due.task, due.due_at],
);

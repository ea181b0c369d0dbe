import { command, query, queryRow } from "../query.ts";
import type { SourceKind } from "./data-source.ts";
import type { Connection } from "../database.ts";

/** What the clock starts of sources: they are asked for it when a worker polls them. */
export type SourceTask = "stores" | "open_returns" | "labels";

/** Under this name the queue has the uploads of a shop, as it has one of its sources. */
export const UPLOADS = "csv";

/** Under this name and its id the queue has an endpoint of alerts. */
export const PUSH = "push ";

/** A source that a worker is to poll. */
export type QueuedRow = {
  shop_key: number;
  source: string;
  /** What the clock has started and the shop was not asked for. */
  scheduled: SourceTask[];
  /** Names the state of the row that a poll has seen. */
  asked: number;
};

/** The due sources, longest overdue first, uploads before all others. run_queue_by_time. */
export const listQueued = query<Pick<QueuedRow, "shop_key" | "source">, [most: number]>(
  "list_queued_sources",
  `select q.shop_key, q.source from run_queue q
          where q.due_at <= statement_timestamp() and q.kind <> 'push' order by q.due_at limit $1`,
);

/** The due endpoints, longest overdue first: run_queue_by_time. */
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
  `select q.shop_key, q.source, q.scheduled, q.asked from run_queue q
          where q.shop_key = $1 and q.source = $2 and q.due_at <= statement_timestamp()`,
);

/** Adds a connection to the queue, to be polled on request. Primary key. */
export const queueConnection = command<[shopKey: number, source: string, kind: SourceKind]>(
  "queue_connection",
  `insert into run_queue as q (shop_key, source, kind, due_at) values ($1, $2, $3, 'infinity')
         on conflict (shop_key, source) do update set kind = excluded.kind where q.kind <> excluded.kind`,
);

/** Puts the uploads of a shop first in the queue, because somebody is waiting for them. Primary key. */
export const queueUploads = command<[shopKey: number]>(
  "queue_uploads",
  `insert into run_queue as q (shop_key, source, kind, due_at) values ($1, $2, 'upload', '-infinity')
         on conflict (shop_key, source) do update set due_at = excluded.due_at, asked = q.asked + 1`,
  (shopKey) => [shopKey, UPLOADS],
);

/** Puts an endpoint into the queue, to be polled by `dueAt`; null = when it is asked for. Primary key. */
export const queuePush = command<[shopKey: number, endpointId: string, dueAt: Date | null]>(
  "queue_push",
  `insert into run_queue as q (shop_key, source, kind, due_at) values ($1, $2, 'push', coalesce($3::timestamptz, 'infinity'))
         on conflict (shop_key, source) do update set due_at = least(q.due_at, excluded.due_at), asked = q.asked + 1`,
  (shopKey, endpointId, dueAt) => [shopKey, PUSH + endpointId, dueAt],
);

/** Schedules the endpoints of a shop for `dueAt`, or earlier. Primary key. */
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

/** Schedules everything of a shop for now. Primary key. */
export const wakeShop = command<[shopKey: number]>(
  "wake_shop",
  "update run_queue q set due_at = '-infinity', asked = q.asked + 1 where q.shop_key = $1",
);

/** How many seconds after the clock a source has its turn: always as many, and sources of a kind are spread over this time. */
const DELAY_SECONDS = `(hashtextextended(q.source, q.shop_key) & 65535) / 65536.0::float8
                * case when q.kind = 'store' then 900 else 3600 end`;

/**
 * Starts a task of the schedule for all connections of a kind, spread over the time to its next one: a scan of the queue.
 * The moment is a parameter, since Citus computes no clock beside columns.
 */
export const queueTask = command<[task: SourceTask, kind: SourceKind, now: Date]>(
  "queue_task",
  `update run_queue q
            set due_at = least(q.due_at, to_timestamp($3::float8 + ${DELAY_SECONDS})), asked = q.asked + 1,
                scheduled = case when $1 = any(q.scheduled) then q.scheduled else q.scheduled || $1::text end
          where q.kind = $2`,
  (task, kind, now) => [task, kind, now.getTime() / 1000],
);

type Poll = Pick<QueuedRow, "shop_key" | "source" | "asked">;

/** Schedules the next poll; null = only on request. Does nothing if one was requested meanwhile. */
export const finishPoll = command<[poll: Poll, nextAt: Date | null]>(
  "finish_poll",
  `update run_queue q set due_at = coalesce($4::timestamptz, 'infinity'), scheduled = '{}'
          where q.shop_key = $1 and q.source = $2 and q.asked = $3`,
  (poll, nextAt) => [poll.shop_key, poll.source, poll.asked, nextAt],
);

/** Retries a failed poll after a delay, with what was requested since. Primary key. */
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

/** Removes the sources and uploads of a shop from the queue; its endpoints stay. Primary key. */
export const leaveQueueWithSources = command<[shopKey: number]>(
  "leave_queue_with_sources",
  "delete from run_queue q where q.shop_key = $1 and q.kind <> 'push'",
);

/** Removes a shop from the queue. Primary key. */
export const leaveQueueWithShop = command<[shopKey: number]>(
  "leave_queue_with_shop",
  "delete from run_queue q where q.shop_key = $1",
);

/** When the clock, or what was asked for, has each connection of a shop polled next. Primary key; `schedule` is a handful of rows. */
export const listNextPolls = query<{ source: string; next_at: Date }, [shopKey: number]>(
  "list_next_polls",
  `select q.source,
                least(q.due_at, date_bin(s.period, statement_timestamp(), s.first_at) + s.period
                                 + ${DELAY_SECONDS} * interval '1 second') as next_at
           from run_queue q
           join schedule s on s.task = case when q.kind = 'store' then 'stores' when q.kind = 'label_cost' then 'labels' end
          where q.shop_key = $1`,
);

/** What the clock starts. */
export type TaskName = "stores" | "open_returns" | "labels" | "alerts" | "upkeep";

/** A task, and when it was due last. */
type DueTaskRow = { task: TaskName; due_at: Date };

/** A task that is due and that no other worker does now, its row locked to the end of the transaction; null = none. */
export const takeDueTask = queryRow<DueTaskRow>(
  "take_due_task",
  `select d.task, d.due_at
           from schedule s
           join lateral (select s.task, date_bin(s.period, statement_timestamp(), s.first_at) as due_at) d on true
          where d.due_at > s.done_until
          order by d.due_at limit 1
            for update of s skip locked`,
);

/** The task is not due again before its next time. Primary key. */
export const finishTask = command<[due: DueTaskRow], Connection>(
  "finish_task",
  "update schedule s set done_until = $2 where s.task = $1",
  (due) => [due.task, due.due_at],
);

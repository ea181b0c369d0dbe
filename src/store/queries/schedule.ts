import type { Connection } from "../database.ts";
import { command, queryRow } from "../query.ts";

/** What the clock starts. */
export type TaskName = "stores" | "open_returns" | "labels" | "alerts" | "upkeep";

/** A task, and when it was due last. */
export type DueTaskRow = { task: TaskName; due_at: Date };

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

import { defineStatement } from "../database.ts";
import type { Connection, Queryable } from "../database.ts";

/** What the clock starts. */
export type TaskName = "stores" | "open_returns" | "labels" | "alerts" | "upkeep";

/** A task, and when it was due last. */
export type DueTaskRow = { task: TaskName; due_at: Date };

const TAKE_DUE_TASK = defineStatement({
  name: "take_due_task",
  text: `select d.task, d.due_at
           from schedule s
           join lateral (select s.task, date_bin(s.period, statement_timestamp(), s.first_at) as due_at) d on true
          where d.due_at > s.done_until
          order by d.due_at limit 1
            for update of s skip locked`,
});

/** A task that is due and that no other worker does now, its row locked to the end of the transaction; null = none. */
export async function takeDueTask(database: Queryable): Promise<DueTaskRow | null> {
  const [row] = await database.rows<DueTaskRow>(TAKE_DUE_TASK, []);
  return row ?? null;
}

const FINISH_TASK = defineStatement({
  name: "finish_task",
  text: "update schedule s set done_until = $2 where s.task = $1",
});

/** The task is not due again before its next time. Primary key. */
export async function finishTask(connection: Connection, due: DueTaskRow): Promise<void> {
  await connection.rows(FINISH_TASK, [due.task, due.due_at]);
}

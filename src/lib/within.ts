import { setTimeout as sleep } from "node:timers/promises";

/** The result, or a rejection if it takes longer; the query is left to finish. */
export async function within<Result>(milliseconds: number, answer: Promise<Result>): Promise<Result> {
  const timeout = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: timeout.signal }).then(() => {
    throw new Error("no answer in time");
  });
  late.catch(() => {});
  answer.catch(() => {});
  return Promise.race([answer, late]).finally(() => timeout.abort());
}

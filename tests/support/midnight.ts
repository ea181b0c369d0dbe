import { setTimeout as sleep } from "node:timers/promises";

const DAY_MS = 86_400_000;
const LAST_MS = 60_000;

/** For tests that count a day's requests: waits out the last minute of the day (UTC), so that all are on one day. */
export async function waitOutMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs <= LAST_MS) await sleep(leftMs + 1000);
}

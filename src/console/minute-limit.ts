const MINUTE_MS = 60_000;

/** Counts one of `key`; false = it has used up those of this minute. */
export type MinuteLimit = (key: string, now: Date) => boolean;

/** Minutes of the clock, in this process: what it remembers of one is forgotten with the first attempt of the next. */
export function createMinuteLimit(mostPerMinute: number): MinuteLimit {
  const counts = new Map<string, number>();
  let minute = 0;
  return (key, now) => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= mostPerMinute;
  };
}

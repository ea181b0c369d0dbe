/** Per person. */
export const MOST_FORMS_PER_MINUTE = 60;
export const TOO_MANY_FORMS = `You have sent more than ${MOST_FORMS_PER_MINUTE} forms within a minute. Wait a minute, then continue.`;

const MINUTE_MS = 60_000;

/** Counts a request under a key, such as an address; false = the key has used up its requests of this minute. */
export type MinuteLimit = {
  (key: string, now: Date): boolean;
  /** Counts one less, where only those that fail count. */
  giveBack(key: string): void;
};

/** Counts by clock minute, in this process: a minute's counts are dropped with the first request of the next. */
export function createMinuteLimit(mostPerMinute: number): MinuteLimit {
  const counts = new Map<string, number>();
  let minute = 0;
  const admits = (key: string, now: Date): boolean => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= mostPerMinute;
  };
  const giveBack = (key: string): void => {
    const count = counts.get(key) ?? 0;
    if (count > 0) counts.set(key, count - 1);
  };
  return Object.assign(admits, { giveBack });
}

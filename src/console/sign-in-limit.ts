const MOST_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/** Counts an attempt of an address; false = it has used up those of this minute. */
export type SignInLimit = (address: string, now: Date) => boolean;

/** Minutes of the clock, in this process: what it remembers of one is forgotten with the first attempt of the next. */
export function createSignInLimit(): SignInLimit {
  const attempts = new Map<string, number>();
  let minute = 0;
  return (address, now) => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) attempts.clear();
    minute = current;
    const count = (attempts.get(address) ?? 0) + 1;
    attempts.set(address, count);
    return count <= MOST_PER_MINUTE;
  };
}

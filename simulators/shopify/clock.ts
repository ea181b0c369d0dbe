/** The simulator's own time: it stands still, so that runs repeat, or it ticks; either can be moved ahead. */
export interface Clock {
  /** Whole seconds since 1970. */
  now(): number;
  advance(seconds: number): void;
  set(seconds: number): void;
}

export function makeClock(startSeconds: number, ticking: boolean): Clock {
  let base = startSeconds;
  const startedAt = performance.now();
  const elapsed = (): number => (ticking ? Math.floor((performance.now() - startedAt) / 1000) : 0);
  return {
    now: () => base + elapsed(),
    advance: (seconds) => {
      base += seconds;
    },
    set: (seconds) => {
      base = seconds - elapsed();
    },
  };
}

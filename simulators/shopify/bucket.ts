/** The leaky bucket of points that an app has for a shop. It fills in real time. */
export interface Bucket {
  /** Takes the points if they are there. */
  take(points: number): boolean;
  give(points: number): void;
  drain(): void;
  status(): { maximumAvailable: number; currentlyAvailable: number; restoreRate: number };
}

export function makeBucket(size: number, restorePerSecond: number): Bucket {
  let available = size;
  let filledAt = performance.now();
  const fill = (): void => {
    const now = performance.now();
    available = Math.min(size, available + ((now - filledAt) / 1000) * restorePerSecond);
    filledAt = now;
  };
  return {
    take: (points) => {
      fill();
      if (points > available) return false;
      available -= points;
      return true;
    },
    give: (points) => {
      fill();
      available = Math.min(size, available + points);
    },
    drain: () => {
      fill();
      available = 0;
    },
    status: () => {
      fill();
      return {
        maximumAvailable: size,
        currentlyAvailable: Math.floor(available),
        restoreRate: restorePerSecond,
      };
    },
  };
}

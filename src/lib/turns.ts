/** Runs work when it is its key's turn. */
export type Turns = <Result>(key: number, work: () => Promise<Result>) => Promise<Result>;

/** It was not the work's turn within the longest wait. */
export class NoTurn extends Error {
  override name = "NoTurn";
}

type Line = { running: number; waiting: (() => void)[] };

/** At most `most` at once of one key, in the order of arrival; keys do not wait for each other. */
export function createTurns({ most, longestWaitMs }: { most: number; longestWaitMs: number }): Turns {
  const lines = new Map<number, Line>();
  return async (key, work) => {
    const line = lines.get(key) ?? { running: 0, waiting: [] };
    lines.set(key, line);
    if (line.running >= most) await turnOf(line, longestWaitMs);
    else line.running += 1;
    try {
      return await work();
    } finally {
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else line.running -= 1;
      if (line.running === 0) lines.delete(key);
    }
  };
}

/** A finished task hands its place to the next in line, so that later arrivals cannot take it. */
function turnOf(line: Line, longestWaitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      line.waiting.splice(line.waiting.indexOf(start), 1);
      reject(new NoTurn(`no turn within ${longestWaitMs} ms`));
    }, longestWaitMs);
    const start = (): void => {
      clearTimeout(timer);
      resolve();
    };
    line.waiting.push(start);
  });
}

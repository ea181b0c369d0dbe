import { traced } from "../lib/trace.ts";

const WAIT = { name: "wait for a turn", expects: (error: unknown) => error instanceof WorkspaceBusy };

/** Runs work of a workspace when it is its turn. */
export type WorkspaceQueue = <Result>(shopKey: number, work: () => Promise<Result>) => Promise<Result>;

/** It was not the work's turn within the longest wait. */
export class WorkspaceBusy extends Error {
  override name = "WorkspaceBusy";
}

type WorkspaceQueueOptions = {
  /** How much work runs at once, of all workspaces. */
  places: number;
  /** Limit per workspace. */
  mostPerWorkspace: number;
  longestWaitMs: number;
};

type Turns = { running: number; waiting: (() => void)[] };

/**
 * Shares slots among workspaces. A workspace's work starts in order of arrival; a free slot goes to the workspace with the fewest
 * running, then to the one that has waited longest. Only the first of a workspace may use the last half of the slots, so that a
 * few busy workspaces cannot take them all.
 */
export function createWorkspaceQueue({
  places,
  mostPerWorkspace,
  longestWaitMs,
}: WorkspaceQueueOptions): WorkspaceQueue {
  // In the order in which workspaces were last given a place.
  const workspaces = new Map<number, Turns>();
  let running = 0;
  const mayStart = (turns: Turns): boolean =>
    running < places && (turns.running === 0 || (turns.running < mostPerWorkspace && running < places / 2));
  const start = (shopKey: number, turns: Turns): void => {
    turns.running += 1;
    running += 1;
    workspaces.delete(shopKey);
    workspaces.set(shopKey, turns);
  };
  const startWaiting = (): void => {
    let next: [number, Turns] | undefined;
    for (const entry of workspaces) {
      const [, turns] = entry;
      if (turns.waiting.length === 0 || !mayStart(turns)) continue;
      if (next === undefined || turns.running < next[1].running) next = entry;
    }
    if (next === undefined) return;
    start(...next);
    next[1].waiting.shift()?.();
    startWaiting();
  };
  const forgetIdle = (shopKey: number, turns: Turns): void => {
    if (turns.running === 0 && turns.waiting.length === 0) workspaces.delete(shopKey);
  };
  return async (shopKey, work) => {
    const turns = workspaces.get(shopKey) ?? { running: 0, waiting: [] };
    workspaces.set(shopKey, turns);
    if (turns.waiting.length === 0 && mayStart(turns)) start(shopKey, turns);
    else await traced(WAIT, () => turnOf(turns, longestWaitMs)).finally(() => forgetIdle(shopKey, turns));
    try {
      return await work();
    } finally {
      running -= 1;
      turns.running -= 1;
      forgetIdle(shopKey, turns);
      startWaiting();
    }
  };
}

function turnOf({ waiting }: Turns, longestWaitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(start), 1);
      reject(new WorkspaceBusy(`no turn within ${longestWaitMs} ms`));
    }, longestWaitMs);
    const start = (): void => {
      clearTimeout(timer);
      resolve();
    };
    waiting.push(start);
  });
}

import type { Finding } from "../finding.ts";
import type { Scene } from "./scene.ts";
import { ACCEPTED, ACCEPTED_AGAIN, DONE } from "./traffic.ts";
import type { Tried } from "./traffic.ts";

/** Part of what was tried: of some shops, within some time. */
export type Part = { requests: Tried[]; webhooks: Tried[]; imports: Tried[]; runs: Run[] };

/** A sync run; `outcome` is its status. */
export type Run = Tried;

/** What overlaps the time, of the shops that fit. */
export async function partOf(
  scene: Scene,
  fromMs: number,
  toMs: number,
  fits: (shopKey: number) => boolean,
): Promise<Part> {
  const within = (all: readonly Tried[]): Tried[] =>
    all.filter(({ shopKey, startedMs, endedMs }) => fits(shopKey) && endedMs >= fromMs && startedMs <= toMs);
  const { requests, webhooks, imports } = scene.traffic;
  return {
    requests: within(requests),
    webhooks: within(webhooks),
    imports: within(imports),
    runs: within(await listRuns(scene)),
  };
}

async function listRuns({ cluster, synced }: Scene): Promise<Run[]> {
  const runs: Run[] = [];
  for (const { shopKey } of synced) {
    const found = await cluster.rows<{
      status: string;
      started_at: Date;
      finished_at: Date | null;
      error: string | null;
    }>(
      "select status, started_at, finished_at, error from sync_run where shop_key = $1 order by started_at",
      [shopKey],
    );
    for (const { status, started_at, finished_at, error } of found) {
      runs.push({
        shopKey,
        startedMs: started_at.getTime(),
        endedMs: finished_at?.getTime() ?? Date.now(),
        outcome: error === null ? status : `${status}: ${error}`,
      });
    }
  }
  return runs;
}

/** What is wrong with traffic that must not notice anything, one sentence each. */
export function disturbances(part: Part, whose: string): string[] {
  return [
    ...unless(part.requests, ["200"], `requests ${whose}`),
    ...unless(part.webhooks, [ACCEPTED, ACCEPTED_AGAIN], `webhooks ${whose}`),
    ...unless(part.imports, [DONE], `imports ${whose}`),
    ...unless(part.runs, ["succeeded", "running"], `syncs ${whose}`),
  ];
}

function unless(tried: readonly Tried[], good: readonly string[], what: string): string[] {
  if (tried.length === 0) return [`no ${what}`];
  const bad = tried.filter(({ outcome }) => !good.includes(outcome));
  return bad.length === 0 ? [] : [`${bad.length} of ${tried.length} ${what}: ${shownOutcomes(bad)}`];
}

/** How many of each outcome. */
export function shownOutcomes(tried: readonly Tried[]): string {
  const byOutcome = [...Map.groupBy(tried, ({ outcome }) => outcome)];
  const shown = byOutcome.map(([outcome, those]) => `${those.length} × ${outcome.replaceAll(/\s+/gu, " ")}`);
  return shown.join(", ") || "none";
}

export function shownPart({ requests, webhooks, imports, runs }: Part): string {
  return (
    `requests ${shownOutcomes(requests)} (longest ${shownSeconds(longestMs(requests))}), webhooks ${shownOutcomes(webhooks)}, ` +
    `imports ${shownOutcomes(imports)}, syncs ${shownOutcomes(runs)}`
  );
}

export function longestMs(tried: readonly Tried[]): number {
  return Math.max(0, ...tried.map(({ startedMs, endedMs }) => endedMs - startedMs));
}

export function shownSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

export function findingOf(name: string, observed: readonly string[], problems: readonly string[]): Finding {
  return { name, held: problems.length === 0, observed: [...observed, ...problems].join("; ") };
}

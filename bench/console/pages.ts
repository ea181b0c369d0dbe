import type { BenchContext } from "../context.ts";
import { shownNumber, timed } from "../measure.ts";
import { SPREAD, startService } from "../request/server-process.ts";
import type { LoadedStore } from "../stores/load-store.ts";
import type { BenchRow } from "../table.ts";
import { askRequests, openPage, requestsOf, signIn } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const PAGES = { overview: "", report: "/report" } as const;
/** Of one visitor, who may open 300 pages a minute. */
const ASKED = 200;
const WARM_UP = 50;

type Measured = { page: number[]; api: number[] };

/**
 * How long a server takes for a page, one after the other, and for the API's requests that the page lists, in turn: with
 * remembered answers, and by a server that remembers none.
 */
export async function measurePages(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.typical();
  const remembered = await measureBoth(context, store, {});
  const recomputed = await measureBoth(context, store, { ANSWER_MEMORY_MB: "0" });
  return [
    ...remembered.map(([name, measured]) => rowOf(`${name}, answers remembered`, measured, "p95 ≤ 15 ms")),
    ...recomputed.map(([name, measured]) =>
      rowOf(`${name}, answers recomputed`, measured, "p95 ≤ the API's + 10 ms"),
    ),
  ];
}

async function measureBoth(
  context: BenchContext,
  store: LoadedStore,
  options: Record<string, string>,
): Promise<[name: string, measured: Measured][]> {
  const service = await startService({ ...context.environment, ...options });
  try {
    const rows: [string, Measured][] = [];
    for (const [name, path] of Object.entries(PAGES)) {
      context.tell(`Opening the ${name}.`);
      rows.push([name, await measurePage(await signIn(context, store, service.address), path)]);
    }
    return rows;
  } finally {
    await service.stop();
  }
}

async function measurePage(visitor: Visitor, path: string): Promise<Measured> {
  const requests = requestsOf(await openPage(visitor, path));
  const measured: Measured = { page: [], api: [] };
  for (let asked = 0; asked < WARM_UP + ASKED; asked += 1) {
    const pageMs = await timed(() => openPage(visitor, path));
    const apiMs = await timed(() => askRequests(visitor, requests));
    if (asked < WARM_UP) continue;
    measured.page.push(pageMs);
    measured.api.push(apiMs);
  }
  return measured;
}

function rowOf(name: string, { page, api }: Measured, target: string): BenchRow {
  return {
    name: `${name}: p95 and p50 of ${ASKED} pages; ${SPREAD}`,
    value: shownPercentiles(page),
    floor: `${shownPercentiles(api)}: its requests to the API`,
    ratio: `p95 ${shownNumber(percentile(page, 0.95) - percentile(api, 0.95))} ms more`,
    target,
  };
}

function shownPercentiles(tookMs: readonly number[]): string {
  return `${shownNumber(percentile(tookMs, 0.95))} ms, ${shownNumber(percentile(tookMs, 0.5))} ms`;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

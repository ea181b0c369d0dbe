import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../../src/contract/registry.ts";
import type { BenchContext } from "../context.ts";
import { startLikeService } from "../servers.ts";
import type { LoadRequest, MeasuredServer } from "../servers.ts";
import type { LoadedStore } from "../stores/store.ts";

const FIRST_MONTH = "2025-01";
const LAST_MONTH = "2025-11";
const SKUS_OF_MIX = 20;
const REPORTS_OF_MIX = 4;

/** A GET with a token. */
export function ask(token: string, path: string, parameters: Record<string, string>): LoadRequest {
  return {
    method: "GET",
    path: `${path}?${new URLSearchParams(parameters).toString()}`,
    headers: { authorization: `Bearer ${token}` },
  };
}

/** One question for each endpoint: about the SKU with most sales, where it takes one. */
export function questionOf(
  endpoint: Endpoint,
  { workspaces: [{ token }], examples }: LoadedStore,
): LoadRequest {
  const takes = (name: string): boolean => name in endpoint.parameters.properties;
  return ask(token, endpoint.path, {
    ...(takes("start_month") ? { start_month: FIRST_MONTH, end_month: LAST_MONTH } : {}),
    ...(takes("sku") && !endpoint.path.includes("leaderboards") ? { sku: examples.sku } : {}),
  });
}

/** The summary of the SKU with most sales, once for each workspace. */
export function summariesOf({ workspaces, examples }: LoadedStore): LoadRequest[] {
  const input = { start_month: FIRST_MONTH, end_month: LAST_MONTH, sku: examples.sku };
  return workspaces.map(({ token }) => ask(token, "/api/v1/summary", input));
}

/** One question for each endpoint, by its name. */
export function questionsOf(store: LoadedStore): Map<string, LoadRequest> {
  return new Map(
    (ENDPOINTS as readonly Endpoint[]).map((endpoint) => [endpoint.name, questionOf(endpoint, store)]),
  );
}

/** What dashboards of one workspace ask in turn: mostly rates of its SKUs, then groups, rankings, reports and lists. */
export function dashboardMix({ examples, plan }: LoadedStore, token: string): LoadRequest[] {
  const months = { start_month: FIRST_MONTH, end_month: LAST_MONTH };
  const group = { product_group_type: "family", product_group_key: examples.family };
  const pathOf = Object.fromEntries(ENDPOINTS.map(({ name, path }) => [name, path as string]));
  const question = (name: string, parameters: Record<string, string>): LoadRequest =>
    ask(token, pathOf[name] ?? "", parameters);
  const skus = Array.from({ length: SKUS_OF_MIX }, (_, index) =>
    skuName(Math.floor((index * plan.skus) / SKUS_OF_MIX)),
  );
  return [
    ...skus.flatMap((sku) => [
      question("summary", { ...months, sku }),
      question("timeseries", { ...months, sku }),
    ]),
    question("summary", months),
    question("timeseries", { ...months, ...group }),
    question("return-rate-leaderboard", { period: "year" }),
    question("return-cost-leaderboard", { ...months, vendor: examples.vendor }),
    ...skus.slice(0, REPORTS_OF_MIX).map((sku) => question("report", { ...months, sku })),
    question("entities", { q: "product 1" }),
    question("alerts", {}),
  ];
}

/** As the generated stores name their SKUs. */
function skuName(number: number): string {
  return `SK${String(number).padStart(6, "0")}`;
}

const FLOOR = join(import.meta.dirname, "floor-server.ts");

/** Starts the floor with the answers that the service gives to a question of each endpoint. */
export async function startFloor(
  context: BenchContext,
  service: MeasuredServer,
  questions: ReadonlyMap<string, LoadRequest>,
): Promise<MeasuredServer> {
  const texts: Record<string, string> = {};
  for (const [name, { path, headers }] of questions) {
    const response = await fetch(service.address + path, { headers });
    if (response.status !== 200) throw new Error(`${name} answered ${response.status}`);
    texts[name] = await response.text();
  }
  const file = join(context.folder, "floor.json");
  writeFileSync(file, JSON.stringify(texts));
  return startLikeService(FLOOR, file);
}

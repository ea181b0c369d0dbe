import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import type { DatabasePool } from "../store/database.ts";
import type { MakeGauge } from "./gauge.ts";

/** Measures these pools; the function that it returns shows them as they are now. */
export function createPoolMetrics(
  pools: ReadonlyMap<string, DatabasePool>,
  gauge: MakeGauge,
  registry: Registry,
): () => void {
  const connections = gauge(
    "returns_database_pool_connections",
    "Open connections of a pool, by whether they are in use.",
    ["pool", "state"],
  );
  const limit = gauge("returns_database_pool_limit", "Connections that a pool may open.", ["pool"]);
  const waiting = gauge("returns_database_pool_waiting", "Statements waiting for a connection of a pool.", [
    "pool",
  ]);
  const waits = new Counter({
    name: "returns_database_pool_waits_total",
    help: "Statements and transactions that had to wait for a connection of a pool.",
    labelNames: ["pool"],
    registers: [registry],
  });
  return () => {
    waits.reset();
    for (const [pool, database] of pools) {
      const usage = database.usage();
      connections.set({ pool, state: "idle" }, usage.idle);
      connections.set({ pool, state: "used" }, usage.open - usage.idle);
      limit.set({ pool }, usage.most);
      waiting.set({ pool }, usage.waiting);
      waits.inc({ pool }, usage.waits);
    }
  };
}

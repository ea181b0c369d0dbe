import type { Cluster } from "./cluster.ts";
import type { Fleet } from "./fleet.ts";
import type { Given } from "./given.ts";
import type { Shop } from "./shops.ts";
import type { Traffic } from "./traffic.ts";

/** A cluster with shops, its servers and workers, and what goes on while faults are caused. */
export type Scene = {
  given: Given;
  cluster: Cluster;
  fleet: Fleet;
  traffic: Traffic;
  /** Shops that folders are imported into. */
  imported: readonly Shop[];
  /** Shops that workers sync. */
  synced: readonly Shop[];
  log: (line: string) => void;
};

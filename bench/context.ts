import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openKeys } from "../src/actions/installation/secrets.ts";
import { migrateInstallation, openInstallation } from "../src/installation.ts";
import type { Installation } from "../src/installation.ts";
import { readConfig } from "../src/config.ts";
import type { Keys } from "../src/lib/keys.ts";
import type { Database } from "../src/store/database.ts";
import { loadStore } from "./stores/load-store.ts";
import type { LoadedStore } from "./stores/load-store.ts";
import type { StoreKind, StorePlan } from "./stores/store-plan.ts";

/** What the rows of one run share: a database of its own, in a folder that is gone afterwards. */
export type BenchContext = {
  installation: Installation;
  keys: Keys;
  /** Of a process of the service on this installation. */
  environment: Record<string, string>;
  /** For files; gone afterwards. */
  folder: string;
  tell: (line: string) => void;
  /** A store of 60,000 lines, loaded when first asked for. */
  typical(): Promise<LoadedStore>;
  /** The large store, loaded when first asked for. */
  whale(): Promise<LoadedStore>;
};

export type ContextOptions = { whaleLines: number; tell: (line: string) => void };

/** A plan with a daily quota, so that every request is counted, that no run can use up. */
export const COUNTED_PLAN = "bench";
const ADD_PLAN = {
  name: "bench_add_plan",
  text: `insert into plan (plan_key, entitlements, daily_quota)
         values ($1, '{api_access,data_export,full_leaderboards}', 2000000000)`,
};

/** Adds `COUNTED_PLAN` to a migrated database. */
export async function addCountedPlan(database: Database): Promise<void> {
  await database.rows(ADD_PLAN, [COUNTED_PLAN]);
}

/** Runs `work` on an embedded database with the service's own settings. */
export async function withContext<Result>(
  { whaleLines, tell }: ContextOptions,
  work: (context: BenchContext) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "returns-bench-"));
  // The database's own user passes through when this runs as root.
  chmodSync(folder, 0o711);
  const dataFolder = join(folder, "data");
  const environment = { RETURNS_DATA_DIR: dataFolder, PORT: "0", LOG_LEVEL: "warn" };
  let installation: Installation | undefined;
  let leaving: Promise<void> | undefined;
  const leave = (): Promise<void> =>
    (leaving ??= (async () => {
      await installation?.close();
      rmSync(folder, { recursive: true, force: true });
    })());
  const removeSignals = onSignals(leave);
  try {
    const opened = await openInstallation(readConfig(environment), tell);
    installation = opened;
    await migrateInstallation(opened, tell);
    const { database } = opened;
    const keys = await openKeys(opened);
    await addCountedPlan(database);
    const stores = new Map<StoreKind, Promise<LoadedStore>>();
    const load = (kind: StoreKind, change: Partial<StorePlan> = {}): Promise<LoadedStore> => {
      const tokenPepper = keys.tokenPepper;
      const loaded =
        stores.get(kind) ?? loadStore(database, { kind, tokenPepper, planKey: COUNTED_PLAN, change, tell });
      stores.set(kind, loaded);
      return loaded;
    };
    return await work({
      installation: opened,
      keys,
      environment: { ...environment, DATABASE_URL: opened.databaseUrl, ...roleEnvironment(opened) },
      folder,
      tell,
      typical: () => load("typical"),
      whale: () => load("whale", { lines: whaleLines }),
    });
  } finally {
    await leave();
    removeSignals();
  }
}

function roleEnvironment({ roleUrls }: Installation): Record<string, string> {
  return {
    DATABASE_READER_URL: roleUrls.reader,
    DATABASE_ADMISSION_URL: roleUrls.admission,
    DATABASE_WORKER_URL: roleUrls.worker,
  };
}

/** An interrupted run leaves nothing behind; npm and the launcher may pass the same signal on again. */
function onSignals(leave: () => Promise<void>): () => void {
  const stop = (): void => {
    void leave().finally(() => process.exit(130));
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, stop);
  return () => {
    for (const signal of signals) process.off(signal, stop);
  };
}

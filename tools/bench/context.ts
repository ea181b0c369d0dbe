import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openKeys } from "../../src/actions/installation/secrets.ts";
import { migrateInstallation, openInstallation } from "../../src/installation.ts";
import type { Installation } from "../../src/installation.ts";
import { readConfig } from "../../src/config.ts";
import type { Keys } from "../../src/lib/keys.ts";
import { openDatabase } from "../../src/store/database.ts";
import type { Database } from "../../src/store/database.ts";
import { addCountedPlan, loadStore } from "./store.ts";
import type { LoadedStore, StoreKind, BenchStorePlan } from "./store.ts";

/** Shared by the rows of one run: a separate database, in a folder that is deleted afterwards. */
export type BenchContext = {
  installation: Installation;
  keys: Keys;
  /** The environment of a service process on this installation. */
  environment: Record<string, string>;
  /** For files; deleted afterwards. */
  folder: string;
  tell: (line: string) => void;
  /** A store of 60,000 lines, loaded when first needed. */
  typical(): Promise<LoadedStore>;
  /** The large store, loaded when first needed. */
  whale(): Promise<LoadedStore>;
  /** Many workspaces with typical stores, or with stores of another size. */
  crowd(size: { workspaces?: number; change?: Partial<BenchStorePlan> }): Promise<LoadedStore>;
};

/** A log that nobody reads. */
export const QUIET = { info: () => {}, warn: () => {}, error: () => {} };

export function openBenchDatabase(
  url: string,
  given: { maxConnections?: number; readOnly?: boolean } = {},
): Database & { close(): Promise<void> } {
  return openDatabase({
    url,
    maxConnections: 2,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-bench",
    onConnectionError: () => {},
    ...given,
  });
}

export type Sql = <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Statements of the benchmark itself, each under its own name. */
export function sqlOf(database: Database): Sql {
  const names = new Map<string, string>();
  return (text, values = []) => {
    const name = names.get(text) ?? `bench_${names.size}`;
    names.set(text, name);
    return database.rows({ name, text }, values);
  };
}

/** Runs `work` on an embedded database with the service's own settings. */
export async function withContext<Result>(
  { whaleLines, tell }: { whaleLines: number; tell: (line: string) => void },
  work: (context: BenchContext) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "returns-bench-"));
  // When this runs as root, the database runs as another user, who must be able to enter the folder.
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
    const { tokenPepper } = keys;
    await addCountedPlan(database);
    const stores = new Map<StoreKind, Promise<LoadedStore>>();
    const load = (kind: StoreKind, change: Partial<BenchStorePlan> = {}): Promise<LoadedStore> => {
      const loaded = stores.get(kind) ?? loadStore(database, { kind, tokenPepper, change, tell });
      stores.set(kind, loaded);
      return loaded;
    };
    const roles = {
      DATABASE_READER_URL: opened.roleUrls.reader,
      DATABASE_ADMISSION_URL: opened.roleUrls.admission,
      DATABASE_WORKER_URL: opened.roleUrls.worker,
    };
    return await work({
      installation: opened,
      keys,
      environment: { ...environment, DATABASE_URL: opened.databaseUrl, ...roles },
      folder,
      tell,
      typical: () => load("typical"),
      whale: () => load("whale", { lines: whaleLines }),
      crowd: (size) => loadStore(database, { kind: "crowd", tokenPepper, tell, ...size }),
    });
  } finally {
    await leave();
    removeSignals();
  }
}

/** Cleans up after an interruption; npm and the launcher may forward the same signal again. */
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

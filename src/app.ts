import { resolve } from "node:path";
import type { FastifyBaseLogger } from "fastify";
import { createAdmit } from "./admission/admit.ts";
import { createAnswers } from "./admission/answers.ts";
import { createOperation } from "./admission/operation.ts";
import type { Gate, Operation } from "./admission/operation.ts";
import type { Config } from "./config.ts";
import { createConnectors } from "./sync/connectors/sources.ts";
import { alerts as alertsContract } from "./contract/alerts.ts";
import { entities as entitiesContract } from "./contract/entities.ts";
import { exportReport as exportReportContract } from "./contract/export-report.ts";
import { report as reportContract } from "./contract/report.ts";
import { returnCostLeaderboard as returnCostLeaderboardContract } from "./contract/return-cost-leaderboard.ts";
import { returnRateLeaderboard as returnRateLeaderboardContract } from "./contract/return-rate-leaderboard.ts";
import { summary as summaryContract } from "./contract/summary.ts";
import { timeseries as timeseriesContract } from "./contract/timeseries.ts";
import { alerts } from "./endpoints/alerts.ts";
import { createCursorCodec } from "./endpoints/cursor.ts";
import { createEntities } from "./endpoints/entities.ts";
import { exportReport } from "./endpoints/export-report.ts";
import { freshness } from "./endpoints/meta.ts";
import { report } from "./endpoints/report.ts";
import { returnCostLeaderboard } from "./endpoints/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./endpoints/return-rate-leaderboard.ts";
import { summary } from "./endpoints/summary.ts";
import { timeseries } from "./endpoints/timeseries.ts";
import { createDocsSurfaces, renderNotFoundPage } from "./http/docs.ts";
import { createServer } from "./http/server.ts";
import { createMcpSurface } from "./mcp/surface.ts";
import { deriveKeys, readOrCreateSecret } from "./lib/keys.ts";
import type { Keys } from "./lib/keys.ts";
import { createMetrics, createOperatorRoutes, listenForOperators } from "./operations.ts";
import type { Metrics } from "./operations.ts";
import { openDatabase } from "./store/database.ts";
import type { Database, DatabasePool } from "./store/database.ts";
import { defaultDataFolder } from "./store/embedded-cluster.ts";
import { joinEmbedded } from "./store/embedded.ts";
import { migrate } from "./store/migrate.ts";
import { findDataVersion } from "./store/queries/data-version.ts";
import { hasCitus } from "./store/queries/distribute.ts";
import { rebuildMarkedShops } from "./sync/rebuild.ts";
import { openCredentials } from "./sync/credentials.ts";
import { createPlatformSurfaces } from "./platform-surfaces.ts";
import { startWorker } from "./worker/worker.ts";
import type { Worker } from "./worker/worker.ts";

export type { Worker };

const PROJECT_FOLDER = resolve(import.meta.dirname, "..");
const SERVING_TIMEOUT_MS = 10_000;
const TAKING_CONNECTIONS = 4;

/** A database that this process may use, and the keys that go with it. */
export type Installation = {
  databaseUrl: string;
  isEmbedded: boolean;
  dataFolder: string;
  keys: Keys;
  /** For the operator's actions and imports: reads and writes, no time limit. */
  database: Database;
  close(): Promise<void>;
};

/** Joins or starts the embedded database, or takes DATABASE_URL. Does not migrate. */
export async function openInstallation(config: Config, log: (line: string) => void): Promise<Installation> {
  const dataFolder = resolve(config.dataFolder ?? defaultDataFolder(PROJECT_FOLDER));
  const embedded = config.databaseUrl === null ? await joinEmbedded({ dataFolder, log }) : null;
  const databaseUrl = config.databaseUrl ?? (embedded?.url as string);
  const keys = deriveKeys(config.secret ?? readOrCreateSecret(dataFolder));
  const database = openDatabase({
    url: databaseUrl,
    maxConnections: 4,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-control",
    onConnectionError: (error) => log(`database connection lost: ${error.message}`),
  });
  return {
    databaseUrl,
    isEmbedded: embedded !== null,
    dataFolder,
    keys,
    database,
    close: async () => {
      await database.close();
      await embedded?.release();
    },
  };
}

/** Brings the installation's schema to this version, and what is prepared for answers with it. */
export async function migrateInstallation(
  installation: Installation,
  log: (line: string) => void,
): Promise<void> {
  await migrate({ url: installation.databaseUrl, log });
  await finishMigration(installation, log);
}

/** Prepares the answers of workspaces that a migration marked; at once where there are none. */
export async function finishMigration(
  installation: Installation,
  log: (line: string) => void,
): Promise<void> {
  await rebuildMarkedShops(installation.database, log);
}

export type Service = {
  /** Base address of the API, such as http://127.0.0.1:8080. */
  address: string;
  /** For a worker in the same process, so that one look shows both. */
  metrics: Metrics;
  /** Finishes requests in flight, then closes everything it opened. */
  stop(): Promise<void>;
};

/** Serves the API on an installation whose schema is current. */
export async function startService(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
): Promise<Service> {
  const databases = await openServingDatabases(config, installation, logger);
  const metrics = createMetrics(databases.reading);
  for (const warning of config.warnings) logger.warn(warning);
  for (const name of ["admission", "reading", "taking"] as const) metrics.watchPool(name, databases[name]);
  const forOperators = createOperatorRoutes(metrics, databases.reading);
  const admit = createAdmit({
    database: databases.admission,
    pepper: installation.keys.tokenPepper,
    onOverQuota: metrics.countQuotaRefusal,
  });
  const answers = createAnswers({
    memoryBytes: config.answerMemoryMegabytes * 1_048_576,
    freshness,
    findDataVersion: ({ shopKey }) => findDataVersion(databases.reading, shopKey),
  });
  const operations = createOperations({ admit, answers }, databases.reading, config, installation.keys);
  const server = createServer({
    operations,
    surfaces: [
      createMcpSurface({ operations, admit, allowedOrigins: config.mcpAllowedOrigins }),
      ...createDocsSurfaces(),
      ...createPlatformSurfaces(config, installation.keys, databases.taking, {
        log: logger,
        onRefusedWebhook: metrics.countRefusedWebhook,
      }),
    ],
    logger,
    metrics,
    notFoundPage: renderNotFoundPage(),
    registerOperationsRoutes: (api) => {
      if (config.operationsPort === null) forOperators.registerProbes(api);
      if (config.hasMetricsOnApiPort) forOperators.registerMetrics(api);
    },
  });
  const address = await server.listen({ host: config.host, port: config.port });
  const operators = await listenForOperators(config, forOperators, logger);
  return {
    address,
    metrics,
    stop: async () => {
      forOperators.drain();
      await new Promise((done) => setTimeout(done, config.drainSeconds * 1000));
      await server.close();
      await operators?.close();
      await databases.close();
    },
  };
}

const FIRST_RETRY_MS = 15_000;
const WORKER_LOOK_MS = 1000;
const WORKER_GRACE_MS = 2000;
const LONGEST_WORKER_STOP_MS = 8000;

export type InstallationWorker = Worker & {
  /** Where its health, readiness and metrics are, when it has a port for them. */
  operationsAddress: string | null;
};

/**
 * Starts a worker on an installation whose schema is current; with connections of its own. Within a service its pools
 * are shown by the `metrics` of that; alone it listens on the operations port, when one is set.
 */
export async function startInstallationWorker(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
  metricsOfService: Metrics | null = null,
): Promise<InstallationWorker> {
  const { databaseUrl, keys } = installation;
  const open = (maxConnections: number, statementTimeoutMs: number): DatabasePool =>
    openDatabase({
      url: databaseUrl,
      maxConnections,
      readOnly: false,
      statementTimeoutMs,
      applicationName: "returns-sync",
      onConnectionError: (error) => logger.warn({ err: error }, "idle database connection lost"),
    });
  // A run writes its data, its progress and now and then a refreshed token.
  const database = open(config.syncRuns * 3 + 1, 0);
  const lookDatabase = open(1, SERVING_TIMEOUT_MS);
  const close = async (): Promise<void> => {
    await operators?.close();
    await Promise.all([database.close(), lookDatabase.close()]);
  };
  const metrics = metricsOfService ?? createMetrics(lookDatabase);
  metrics.watchPool("sync", database);
  const forOperators = createOperatorRoutes(metrics, lookDatabase);
  let operators: Awaited<ReturnType<typeof listenForOperators>> = null;
  try {
    if (metricsOfService === null) operators = await listenForOperators(config, forOperators, logger);
    const worker = await startWorker({
      databaseUrl,
      database,
      lookDatabase,
      connectors: createConnectors(config),
      openCredentials: (shopKey, source) =>
        openCredentials({ database, sealingKey: keys.sealingKey, shopKey, source }),
      now: () => new Date(),
      log: logger,
      firstRetryMs: FIRST_RETRY_MS,
      concurrency: config.syncRuns,
      hasSchedule: true,
      lookMs: WORKER_LOOK_MS,
      graceMs: WORKER_GRACE_MS,
      longestStopMs: LONGEST_WORKER_STOP_MS,
    });
    return {
      operationsAddress: operators?.address ?? null,
      stop: async () => {
        forOperators.drain();
        await worker.stop();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export type ServingDatabases = {
  admission: DatabasePool;
  reading: DatabasePool;
  taking: DatabasePool;
  close(): Promise<void>;
};

/**
 * Admission counts requests, and endpoints read on connections that the database itself holds to it. What the store
 * platform tells is taken in by a few connections of its own, opened when it first does, so that no burst of it holds
 * up requests.
 */
export async function openServingDatabases(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
): Promise<ServingDatabases> {
  const isSpread = await hasCitus(installation.database);
  const open = (name: string, readOnly: boolean, maxConnections = config.maxConnections): DatabasePool =>
    openDatabase({
      url: installation.databaseUrl,
      maxConnections,
      readOnly,
      hasCitus: isSpread,
      statementTimeoutMs: SERVING_TIMEOUT_MS,
      applicationName: `returns-${name}`,
      onConnectionError: (error) => logger.warn({ err: error }, "idle database connection lost"),
    });
  const admission = open("admission", false);
  const reading = open("reading", true);
  const taking = open("taking", false, TAKING_CONNECTIONS);
  return {
    admission,
    reading,
    taking,
    close: async () => {
      await Promise.all([admission.close(), reading.close(), taking.close()]);
    },
  };
}

/** Every endpoint of the contract with its handler. */
function createOperations(gate: Gate, reading: Database, config: Config, keys: Keys): Operation[] {
  const paged = { database: reading, cursors: createCursorCodec(keys.cursorKey) };
  return [
    createOperation(entitiesContract, createEntities(paged, config.maxConnections), gate),
    createOperation(summaryContract, (call) => summary(reading, call), gate),
    createOperation(reportContract, (call) => report(reading, call), gate),
    createOperation(timeseriesContract, (call) => timeseries(reading, call), gate),
    createOperation(returnRateLeaderboardContract, (call) => returnRateLeaderboard(reading, call), gate),
    createOperation(returnCostLeaderboardContract, (call) => returnCostLeaderboard(reading, call), gate),
    createOperation(alertsContract, (call) => alerts(paged, call), gate),
    createOperation(exportReportContract, (call) => exportReport(reading, call), gate),
  ];
}

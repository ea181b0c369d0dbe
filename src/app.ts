import { resolve } from "node:path";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { createAdmit } from "./admission/admit.ts";
import type { Admit } from "./admission/admit.ts";
import { createOperation } from "./admission/operation.ts";
import type { Operation } from "./admission/operation.ts";
import type { Config } from "./config.ts";
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
import { entities } from "./endpoints/entities.ts";
import { exportReport } from "./endpoints/export-report.ts";
import { report } from "./endpoints/report.ts";
import { returnCostLeaderboard } from "./endpoints/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./endpoints/return-rate-leaderboard.ts";
import { summary } from "./endpoints/summary.ts";
import { timeseries } from "./endpoints/timeseries.ts";
import { createDocsSurfaces } from "./http/docs.ts";
import { createHttpMetrics } from "./http/metrics.ts";
import { registerOperationsRoutes } from "./http/operations-routes.ts";
import type { Readiness } from "./http/operations-routes.ts";
import { createOperationsServer, createServer } from "./http/server.ts";
import { createMcpSurface } from "./mcp/surface.ts";
import { deriveKeys, readOrCreateSecret } from "./lib/keys.ts";
import type { Keys } from "./lib/keys.ts";
import { openDatabase } from "./store/database.ts";
import type { Database } from "./store/database.ts";
import { defaultDataFolder } from "./store/embedded-cluster.ts";
import { joinEmbedded } from "./store/embedded.ts";
import { migrate, schemaLevel } from "./store/migrate.ts";
import { appliedMigrations } from "./store/queries/schema.ts";

const PROJECT_FOLDER = resolve(import.meta.dirname, "..");
const SERVING_TIMEOUT_MS = 10_000;

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

/** Brings the installation's schema to this version. */
export async function migrateInstallation(
  installation: Installation,
  log: (line: string) => void,
): Promise<void> {
  await migrate({ url: installation.databaseUrl, log });
}

export type Service = {
  /** Base address of the API, such as http://127.0.0.1:8080. */
  address: string;
  /** Finishes requests in flight, then closes everything it opened. */
  stop(): Promise<void>;
};

/** Serves the API on an installation whose schema is current. */
export async function startService(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
): Promise<Service> {
  const databases = openServingDatabases(config, installation.databaseUrl, logger);
  const metrics = createHttpMetrics();
  let draining = false;
  const registerOperations = (server: FastifyInstance): void =>
    registerOperationsRoutes(server, {
      metrics,
      readiness: async () => (draining ? { ready: false, reason: "draining" } : readiness(databases.reading)),
    });
  const admit = createAdmit({ database: databases.admission, pepper: installation.keys.tokenPepper });
  const operations = createOperations(admit, databases.reading, installation.keys);
  const server = createServer({
    operations,
    surfaces: [
      createMcpSurface({ operations, admit, allowedOrigins: config.mcpAllowedOrigins }),
      ...createDocsSurfaces(),
    ],
    logger,
    metrics,
    registerOperationsRoutes: config.operationsPort === null ? registerOperations : null,
  });
  const operationsServer =
    config.operationsPort === null ? null : createOperationsServer(logger, registerOperations);
  const address = await server.listen({ host: config.host, port: config.port });
  await operationsServer?.listen({ host: config.host, port: config.operationsPort ?? 0 });
  return {
    address,
    stop: async () => {
      draining = true;
      await new Promise((done) => setTimeout(done, config.drainSeconds * 1000));
      await server.close();
      await operationsServer?.close();
      await databases.close();
    },
  };
}

type ServingDatabases = { admission: Database; reading: Database; close(): Promise<void> };

/** Two pools: admission counts requests, everything else is read-only at the database itself. */
function openServingDatabases(config: Config, url: string, logger: FastifyBaseLogger): ServingDatabases {
  const open = (readOnly: boolean): Database =>
    openDatabase({
      url,
      maxConnections: config.maxConnections,
      readOnly,
      statementTimeoutMs: SERVING_TIMEOUT_MS,
      applicationName: readOnly ? "returns-reading" : "returns-admission",
      onConnectionError: (error) => logger.warn({ err: error }, "idle database connection lost"),
    });
  const admission = open(false);
  const reading = open(true);
  return {
    admission,
    reading,
    close: async () => {
      await Promise.all([admission.close(), reading.close()]);
    },
  };
}

/** Every endpoint of the contract with its handler. */
function createOperations(admit: Admit, reading: Database, keys: Keys): Operation[] {
  const paged = { database: reading, cursors: createCursorCodec(keys.cursorKey) };
  return [
    createOperation(entitiesContract, (call) => entities(paged, call), admit),
    createOperation(summaryContract, (call) => summary(reading, call), admit),
    createOperation(reportContract, (call) => report(reading, call), admit),
    createOperation(timeseriesContract, (call) => timeseries(reading, call), admit),
    createOperation(returnRateLeaderboardContract, (call) => returnRateLeaderboard(reading, call), admit),
    createOperation(returnCostLeaderboardContract, (call) => returnCostLeaderboard(reading, call), admit),
    createOperation(alertsContract, (call) => alerts(paged, call), admit),
    createOperation(exportReportContract, (call) => exportReport(reading, call), admit),
  ];
}

async function readiness(database: Database): Promise<Readiness> {
  try {
    const level = await schemaLevel(await appliedMigrations(database));
    return level === "current"
      ? { ready: true }
      : { ready: false, reason: `the database schema is ${level}` };
  } catch {
    return { ready: false, reason: "the database does not answer" };
  }
}

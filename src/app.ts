import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { createProvider } from "./access/provider.ts";
import { createAdmitMember } from "./access/admit-member.ts";
import { createAdmit, quotaOfToken } from "./access/admit.ts";
import { createAnswers } from "./access/answers.ts";
import { createIdentity } from "./access/identity.ts";
import { createGiveBack, createOperation, createSnapshots } from "./access/operation.ts";
import type { Guard, Handler, Operation } from "./access/operation.ts";
import { createWorkspaceNodes, type NodeOfWorkspace } from "./access/workspace-nodes.ts";
import { createWorkspaceQueue } from "./access/workspace-queue.ts";
import { startUsageWriter, type CountUsage } from "./access/usage-count.ts";
import type { ActionTools } from "./actions/action.ts";
import { oauthIssuer, publicConsole } from "./actions/console-address.ts";
import { requireWorkerPlace } from "./actions/installation/schema.ts";
import { openKeys } from "./actions/installation/secrets.ts";
import { connectingOf } from "./actions/sources/connect.ts";
import { beginInstallation, finishInstallation } from "./actions/sources/install.ts";
import { requirePlan } from "./actions/plan/actions.ts";
import { pushOptions } from "./alerts/delivery/send.ts";
import { clientPackage } from "./client/package.ts";
import type { Config } from "./config.ts";
import type { Endpoint } from "./contract/endpoint.ts";
import { ENDPOINTS, type AnyEndpoint } from "./contract/registry.ts";
import { createCursorCodec } from "./endpoints/cursor.ts";
import { newestMonth } from "./endpoints/cohort-months.ts";
import { createHandlers } from "./endpoints/handlers.ts";
import { baseMeta } from "./endpoints/meta.ts";
import { createConnectRoutes, createWebhookRoute } from "./http/webhooks.ts";
import { createDocs } from "./http/docs.ts";
import { createServer, createOperationsServer, type RouteGroup } from "./http/server.ts";
import {
  LONGEST_WAIT_MS,
  MONITORING_CONNECTIONS,
  MONITORING_TIMEOUT_MS,
  openPool,
  openServingDatabases,
  requireRoles,
  SERVING_TIMEOUT_MS,
} from "./installation.ts";
import type { Installation, ServingDatabases } from "./installation.ts";
import { keyFor, type Keys } from "./lib/keys.ts";
import { createMcpRoutes } from "./mcp/transport.ts";
import { createMetrics, type Metrics } from "./operations/metrics.ts";
import type { Tracing } from "./operations/tracing.ts";
import type { Database, DatabasePool, Queryable } from "./store/database.ts";
import type { NodeDatabases } from "./store/node-databases.ts";
import {
  readDelivery,
  receiveWebhook,
  SHOPIFY_WEBHOOKS,
  type WebhookOptions,
} from "./sync/connectors/shopify/webhooks/receive.ts";
import { endGroupOperators } from "./store/queries/console-user.ts";
import { receiveWooWebhook, WOOCOMMERCE_WEBHOOKS } from "./sync/connectors/woocommerce/webhooks.ts";
import { createStreams } from "./store/snapshot-stream.ts";
import { createConnectors, PINNED_APIS } from "./sync/connectors/sources.ts";
import { openCredentials } from "./sync/credentials.ts";
import { createDeliveries, type Deliveries } from "./worker/deliveries.ts";
import { WORKSPACE_CHECKS, startWorker, type Worker, type WorkerOptions } from "./worker/worker.ts";
import { checkReadiness } from "./store/migrate.ts";

export type Service = {
  /** Base address of the API, such as http://127.0.0.1:8080. */
  address: string;
  /** For a worker in the same process, so that one scrape covers both. */
  metrics: Metrics;
  /** Finishes requests in flight, then closes everything it opened. */
  stop(): Promise<void>;
};

/** Starts sending traces. null: no collector is configured; then OpenTelemetry's SDK is not loaded. */
export async function openTracing(config: Config, logger: FastifyBaseLogger): Promise<Tracing | null> {
  if (config.otlpEndpoint === null || config.isTracingDisabled) return null;
  const { startTracing } = await import("./operations/tracing.ts");
  return startTracing(config, logger);
}

/** Serves the API on an installation whose schema is current. */
export async function startService(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
): Promise<Service> {
  const keys = await openKeys(installation);
  const databases = await openServingDatabases(config, installation, logger);
  const metrics = createMetrics(databases.monitoring, PINNED_APIS);
  for (const warning of config.warnings) logger.warn(warning);
  for (const name of ["admission", "reading", "ingest", "console", "exporting"] as const)
    metrics.watchPool(name, databases[name]);
  const forOperators = createOperatorRoutes(metrics, databases.reading);
  const nodeOfWorkspace = databases.nodes === null ? null : createWorkspaceNodes(databases.admission);
  const usage = startUsageWriter({ database: databases.ingest, nodeOfWorkspace, log: logger });
  const counters = { metrics, countUsage: usage.count };
  const guard = createGuard(config, keys, { ...databases, nodeOfWorkspace }, counters);
  const operations = createOperations(config, guard, keys, databases.exporting);
  const { hasConsole, publicUrl } = config;
  const docs = createDocs({ hasConsole, clientPackage: () => clientPackage(publicUrl) });
  const server = createServer({
    operations,
    routeGroups: [
      createMcpRoutes({
        operations,
        admit: guard.admit,
        allowedOrigins: config.mcpAllowedOrigins,
        publicOrigin: publicConsole(config.publicUrl),
        issuer: config.hasConsole ? oauthIssuer(config.publicUrl) : null,
        onToolError: metrics.countToolError,
      }),
      ...docs.routeGroups,
      ...(config.hasConsole ? await createConsoleRoutes(config, keys, databases, operations, logger) : []),
      ...createPlatformRoutes(config, keys, databases.ingest, {
        log: logger,
        onRefusedWebhook: metrics.countRefusedWebhook,
      }),
    ],
    logger,
    metrics,
    quotaOf: (authorization) => quotaOfToken(guard.admit, authorization),
    trustedProxies: config.trustedProxies,
    notFoundPage: docs.notFoundPage,
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
      await usage.stop();
      await operators?.close();
      await databases.close();
    },
  };
}

async function createConsoleRoutes(
  config: Config,
  keys: Keys,
  { console: database, exporting }: Pick<ServingDatabases, "console" | "exporting">,
  operations: readonly Operation[],
  log: FastifyBaseLogger,
): Promise<RouteGroup[]> {
  // Imported here, because it takes memory that a server without the console need not have.
  const { createConsole } = await import("./console/console.ts");
  const { checkRunning } = await import("./operations/doctor.ts");
  const now = (): Date => new Date();
  // Sessions outlive the options that made their people operators.
  await endGroupOperators(database, config.oidcIssuer, config.oidcOperatorGroup);
  return createConsole({
    operations,
    admitMember: createAdmitMember({ database }),
    identity: createIdentity(database, now, keyFor("passkeys", keys)),
    control: { ...controlOf(config, keys, { database, exporting }), provider: createProvider(config, log) },
    site: { publicOrigin: publicConsole(config.publicUrl) },
    now,
    checkRunning: () => checkRunning(database),
  });
}

function controlOf(
  config: Config,
  keys: Keys,
  databases: Pick<ActionTools, "database" | "exporting">,
): ActionTools {
  const push = pushOptions(config);
  return { ...databases, keys, connecting: connectingOf(config), push, retention: config, provider: null };
}

/** A longer snapshot would keep the database from vacuuming. */
const LONGEST_STREAM_MS = 3_600_000;
/** How long a reader of a table may stall. */
const LONGEST_STALL_MS = 60_000;
const FIRST_RETRY_MS = 15_000;
const WORKER_POLL_MS = 1000;
const WORKER_GRACE_MS = 2000;
const LONGEST_WORKER_STOP_MS = 8000;
const WORKER_TURN_MS = 10 * 60_000;
/** Pushing waits for receivers, not for the database. */
const PUSH_CONNECTIONS = 2;

export type InstallationWorker = Worker & {
  /** Where its health, readiness and metrics are, when it has a port for them. */
  operationsAddress: string | null;
};

/**
 * Starts a worker on an installation with a current schema, with separate connections. Within a service, `metrics` shows its
 * pools; alone it listens on the operations port, if set.
 */
export async function startInstallationWorker(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
  metricsOfService: Metrics | null = null,
): Promise<InstallationWorker> {
  const keys = await openKeys(installation);
  const open = (maxConnections: number, statementTimeoutMs: number): ReturnType<typeof openPool> =>
    openPool(installation, logger, "worker", {
      applicationName: "returns-sync",
      maxConnections,
      statementTimeoutMs,
    });
  // A run writes its data, its progress and now and then a refreshed token; checking a workspace takes one connection.
  const database = open(config.syncRuns * 3 + WORKSPACE_CHECKS + 1, 0);
  const queueDatabase = open(1, SERVING_TIMEOUT_MS);
  const pushDatabase = open(PUSH_CONNECTIONS, SERVING_TIMEOUT_MS);
  const close = async (): Promise<void> => {
    await operators?.close();
    const opened = [database, queueDatabase, pushDatabase, monitoring];
    await Promise.all(opened.map((pool) => pool.close()));
  };
  // Separate, so that scrapes do not delay the worker; it connects at its first use.
  const monitoring = open(MONITORING_CONNECTIONS, MONITORING_TIMEOUT_MS);
  const metrics = metricsOfService ?? createMetrics(monitoring, PINNED_APIS);
  metrics.watchPool("sync", database);
  metrics.watchPool("push", pushDatabase);
  const forOperators = createOperatorRoutes(metrics, queueDatabase);
  let operators: Awaited<ReturnType<typeof listenForOperators>> = null;
  try {
    await requireRoles(config, installation, { worker: queueDatabase });
    await requireWorkerPlace(queueDatabase);
    for (const [, plan] of config.shopifyPlans) await requirePlan(queueDatabase, plan, "SHOPIFY_PLANS: ");
    if (metricsOfService === null) operators = await listenForOperators(config, forOperators, logger);
    const worker = await startWorker({
      ...workerOptions(config, keys, { database, queueDatabase }, logger),
      deliveries: [
        ...digestsOf(config, keys, pushDatabase, { metrics, log: logger }),
        deliveriesOf(config, keys, pushDatabase, logger),
      ],
      databaseUrl: installation.roleUrls.worker,
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

function workerOptions(
  config: Config,
  keys: Keys,
  databases: { database: Database; queueDatabase: Database },
  log: FastifyBaseLogger,
): Omit<WorkerOptions, "databaseUrl" | "deliveries"> {
  const { database, queueDatabase } = databases;
  return {
    database,
    queueDatabase,
    connectors: createConnectors(config),
    openCredentials: (shopKey, source) =>
      openCredentials({ database, sealingKey: keys.sealingKey, shopKey, source }),
    now: () => new Date(),
    log,
    firstRetryMs: FIRST_RETRY_MS,
    retention: config,
    concurrency: config.syncRuns,
    hasSchedule: true,
    pollMs: WORKER_POLL_MS,
    graceMs: WORKER_GRACE_MS,
    longestStopMs: LONGEST_WORKER_STOP_MS,
    turnMs: WORKER_TURN_MS,
  };
}

function deliveriesOf(
  config: Config,
  { sealingKey }: Keys,
  database: Database,
  log: FastifyBaseLogger,
): Deliveries {
  return createDeliveries({
    database,
    sealingKey,
    push: pushOptions(config),
    consoleAddress: linkedConsole(config),
    now: () => new Date(),
    random: Math.random,
    log,
  });
}

/** Answers are cached only from one member of a workspace to the next. */
const DIGEST_MEMORY_MEGABYTES = 4;

/** Sends weekly digests, with the content of the console's overview; []: no mail, or no address for links. */
function digestsOf(
  config: Config,
  keys: Keys,
  database: DatabasePool,
  { metrics, log }: { metrics: Metrics; log: FastifyBaseLogger },
): Deliveries[] {
  const publicOrigin = publicConsole(config.publicUrl);
  const control = controlOf(config, keys, { database, exporting: database });
  if (!config.hasConsole || publicOrigin === null || control.push.smtp === null) return [];
  const open = async () => {
    // Imported here, because it takes memory that a worker without mail need not have.
    const { sendDigests } = await import("./actions/digest/send.ts");
    const own = { admission: database, reading: database, nodes: null, readingNodes: null };
    const databases = { ...own, nodeOfWorkspace: null };
    const limited = { ...config, answerMemoryMegabytes: DIGEST_MEMORY_MEGABYTES };
    const guard = createGuard(limited, keys, databases, { metrics, countUsage: () => {} });
    const operations = createOperations(config, guard, keys, database);
    const environment = { control, operations, site: { publicOrigin }, now: () => new Date() };
    return (stop: AbortSignal) => sendDigests({ ...environment, random: Math.random, log }, stop);
  };
  let opened: ReturnType<typeof open> | undefined;
  const stopping = new AbortController();
  let active: Promise<void> | null = null;
  const digests: Deliveries = {
    poll: async () => {
      active ??= (opened ??= open())
        .then((send) => send(stopping.signal))
        .catch((error: unknown) => log.warn({ err: error }, "weekly digests could not be sent"))
        .finally(() => (active = null));
    },
    stop: async () => {
      stopping.abort();
      await active;
    },
  };
  return [digests];
}

/** The platform routes' listeners: a log, and the status of each refused delivery. */
type PlatformListeners = {
  log: WebhookOptions["log"];
  onRefusedWebhook: (status: number) => void;
};

/** Where the store platform reports changes, and where merchants connect their shops. Writes to `database`. */
function createPlatformRoutes(
  config: Config,
  keys: Keys,
  database: Database,
  { log, onRefusedWebhook }: PlatformListeners,
): RouteGroup[] {
  const { publicUrl, shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  const { sealingKey } = keys;
  const environment = { database, keys, connecting: connectingOf(config), now: () => new Date() };
  const receiver = { database, sealingKey, clientId, clientSecret, log };
  return [
    createWebhookRoute(
      SHOPIFY_WEBHOOKS,
      (webhook) => receiveWebhook(receiver, readDelivery(webhook)),
      onRefusedWebhook,
    ),
    createWebhookRoute(
      WOOCOMMERCE_WEBHOOKS,
      (webhook) => receiveWooWebhook(receiver, webhook),
      onRefusedWebhook,
    ),
    ...createConnectRoutes(
      {
        begin: (query, browser) => beginInstallation(environment, query, browser),
        finish: (query, browser) => finishInstallation(environment, query, browser),
      },
      publicUrl?.startsWith("https:") === true,
    ),
  ];
}

/** `nodes`, `readingNodes` and `nodeOfWorkspace`: where Citus spreads the workspaces over nodes. */
type RequestDatabases = {
  admission: Database;
  reading: DatabasePool;
  nodes: NodeDatabases | null;
  readingNodes: NodeDatabases | null;
  nodeOfWorkspace: NodeOfWorkspace | null;
};

/** Listeners of requests: the metrics of the process, and the usage details. */
type RequestCounters = { metrics: Metrics; countUsage: CountUsage };

/** The guard that every request passes before its handler. */
export function createGuard(
  config: Config,
  keys: Keys,
  databases: RequestDatabases,
  { metrics, countUsage }: RequestCounters,
): Guard {
  const { admission, reading, nodes, readingNodes, nodeOfWorkspace } = databases;
  return {
    admit: createAdmit({
      database: admission,
      pepper: keys.tokenPepper,
      connections: config.maxConnections,
      longestWaitMs: LONGEST_WAIT_MS,
      nodeOfWorkspace,
      ...(nodes === null ? {} : { databaseOfNode: nodes.of }),
      onChecked: metrics.observeAdmission,
      onOverQuota: metrics.countQuotaRefusal,
    }),
    answers: createAnswers({
      memoryBytes: config.answerMemoryMegabytes * 1_048_576,
      baseMeta,
    }),
    openSnapshot: createSnapshots(reading, async (shopKey) => {
      if (nodeOfWorkspace === null || readingNodes === null) return reading;
      const { node, shard } = await nodeOfWorkspace(shopKey);
      return readingNodes.of(node, shard);
    }),
    workspaceQueue: createWorkspaceQueue({
      places: config.maxConnections,
      mostPerWorkspace: config.requestsPerWorkspace,
      longestWaitMs: LONGEST_WAIT_MS,
    }),
    giveBack: createGiveBack(admission),
    countUsage,
    newestMonth,
  };
}

/** The console for links in alerts; null: none that others can reach. */
function linkedConsole({ hasConsole, publicUrl }: Config): string | null {
  return hasConsole ? publicUrl : null;
}

/** Every endpoint of the contract with its handler; tables are read over `exporting`. */
export function createOperations(
  config: Config,
  guard: Guard,
  keys: Keys,
  exporting: DatabasePool,
): Operation[] {
  const handlers = createHandlers({
    cursors: createCursorCodec(keys.cursorKey),
    consoleAddress: linkedConsole(config),
    openStream: createStreams(exporting, { longestMs: LONGEST_STREAM_MS, stallMs: LONGEST_STALL_MS }),
  });
  return ENDPOINTS.map((endpoint: Endpoint) =>
    createOperation(endpoint, handlers[endpoint.name as AnyEndpoint["name"]] as Handler<Endpoint>, guard),
  );
}

/** Health, readiness and metrics of a process, on a separate port or with the API. */
type OperatorRoutes = {
  registerProbes: (server: FastifyInstance) => void;
  registerMetrics: (server: FastifyInstance) => void;
  /** From now on readiness answers 503. */
  drain(): void;
};

/**
 * /healthz checks nothing; /readyz checks the database, its schema level and draining; /metrics is for Prometheus. They are not
 * part of the customer API; in production they have a separate port.
 */
function createOperatorRoutes(metrics: Metrics, database: Queryable): OperatorRoutes {
  let isDraining = false;
  return {
    registerProbes: (server) => {
      server.get("/healthz", async () => ({ status: "ok" }));
      server.get("/readyz", async (_request, reply) => {
        const readiness = isDraining
          ? { ready: false as const, reason: "draining" }
          : await checkReadiness(database);
        if (readiness.ready) return { status: "ready" };
        return reply.code(503).send({ status: "not_ready", reason: readiness.reason });
      });
    },
    registerMetrics: (server) => {
      server.get("/metrics", async (_request, reply) => {
        const { body, contentType } = await metrics.render();
        return reply.type(contentType).send(body);
      });
    },
    drain: () => {
      isDraining = true;
    },
  };
}

/** Listens on the operators' port; null: none is set. */
async function listenForOperators(
  { operationsHost: host, operationsPort: port }: Config,
  routes: OperatorRoutes,
  logger: FastifyBaseLogger,
): Promise<{ address: string; close(): Promise<void> } | null> {
  if (port === null) return null;
  const server = createOperationsServer(logger, (own) => {
    routes.registerProbes(own);
    routes.registerMetrics(own);
  });
  const address = await server.listen({ host, port });
  return { address, close: () => server.close() };
}

import { createAdmit } from "./access/admit.ts";
import { createAnswers } from "./access/answers.ts";
import { createGiveBack } from "./access/give-back.ts";
import { createOperation } from "./access/operation.ts";
import type { Guard, Handler, Operation } from "./access/operation.ts";
import type { NodeOfShop } from "./access/shop-nodes.ts";
import { createShopQueue } from "./access/shop-queue.ts";
import { createSnapshots } from "./access/snapshot.ts";
import type { CountUsage } from "./access/usage-count.ts";
import type { Config } from "./config.ts";
import type { Endpoint } from "./contract/endpoint.ts";
import { ENDPOINTS } from "./contract/registry.ts";
import type { AnyEndpoint } from "./contract/registry.ts";
import { createCursorCodec } from "./endpoints/cursor.ts";
import { createHandlers } from "./endpoints/handlers.ts";
import { baseMeta } from "./endpoints/meta.ts";
import { LONGEST_WAIT_MS } from "./installation.ts";
import type { Keys } from "./lib/keys.ts";
import type { Metrics } from "./operations/metrics.ts";
import type { Database, DatabasePool } from "./store/database.ts";
import type { NodeDatabases } from "./store/node-databases.ts";

/** `nodes` and `nodeOfShop`: where Citus spreads the shops over nodes. */
export type RequestDatabases = {
  admission: Database;
  reading: DatabasePool;
  nodes: NodeDatabases | null;
  nodeOfShop: NodeOfShop | null;
};

/** What hears of requests: the metrics of the process, and the details of usage. */
export type RequestCounters = { metrics: Metrics; countUsage: CountUsage };

/** What each request passes before its handler. */
export function createGuard(
  config: Config,
  keys: Keys,
  databases: RequestDatabases,
  { metrics, countUsage }: RequestCounters,
): Guard {
  const { admission, reading, nodes, nodeOfShop } = databases;
  return {
    admit: createAdmit({
      database: admission,
      pepper: keys.tokenPepper,
      connections: config.maxConnections,
      longestWaitMs: LONGEST_WAIT_MS,
      nodeOfShop,
      ...(nodes === null ? {} : { databaseOfNode: nodes.of }),
      onChecked: metrics.observeAdmission,
      onOverQuota: metrics.countQuotaRefusal,
    }),
    answers: createAnswers({
      memoryBytes: config.answerMemoryMegabytes * 1_048_576,
      baseMeta,
    }),
    openSnapshot: createSnapshots(reading),
    shopQueue: createShopQueue({
      places: config.maxConnections,
      mostPerShop: config.requestsPerShop,
      longestWaitMs: LONGEST_WAIT_MS,
    }),
    giveBack: createGiveBack(admission),
    countUsage,
  };
}

/** The console that links of alerts lead to; null = there is none that others reach. */
export function linkedConsole({ hasConsole, publicUrl }: Config): string | null {
  return hasConsole ? publicUrl : null;
}

/** Every endpoint of the contract with its handler. */
export function createOperations(config: Config, guard: Guard, keys: Keys): Operation[] {
  const handlers = createHandlers(createCursorCodec(keys.cursorKey), linkedConsole(config));
  return ENDPOINTS.map((endpoint: Endpoint) =>
    createOperation(endpoint, handlers[endpoint.name as AnyEndpoint["name"]] as Handler<Endpoint>, guard),
  );
}

import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Database } from "../store/database.ts";
import { listShops } from "../store/directory.ts";
import type { ShopAddressRow } from "../store/queries/data-source.ts";
import { findStop } from "../store/queries/import-stage.ts";
import { queueTask, finishTask, takeDueTask } from "../store/queries/run-queue.ts";
import type { TaskName } from "../store/queries/run-queue.ts";
import type { Retention } from "../lib/retention.ts";
import type { RunLog } from "../sync/runs.ts";
import { deleteOldOfInstallation } from "./retention.ts";
import { keepShopInOrder } from "./upkeep.ts";

export type TaskEnvironment = { database: Database; now: () => Date; log: RunLog; retention: Retention };

/**
 * Each does its task for every workspace; runs of sources are only put into the queue. When they are due is in the table
 * `schedule`.
 */
const TASKS: Readonly<Record<TaskName, (environment: TaskEnvironment) => Promise<void>>> = {
  stores: ({ database, now }) => queueTask(database, "stores", "store", now()),
  open_returns: ({ database, now }) => queueTask(database, "open_returns", "store", now()),
  labels: ({ database, now }) => queueTask(database, "labels", "label_cost", now()),
  alerts: (environment) => forEachShop(environment, "alerts", evaluate),
  upkeep: keepInOrder,
};

/**
 * Does the task that has been due for longest; nothing when none is due, or other workers do those that are. A task that
 * fails is done again when it is next due. One whose process is killed is due at once: its row stays locked meanwhile.
 */
export async function runDueTask(environment: TaskEnvironment, stop: AbortSignal): Promise<void> {
  await environment.database.transaction(async (connection) => {
    const due = await takeDueTask(connection);
    if (due === null) return;
    try {
      await runTask(environment, due.task);
    } catch (error) {
      if (stop.aborted) throw error;
      environment.log.error(
        { task: due.task, err: error },
        "a scheduled task failed; the next one makes up for it",
      );
    }
    await finishTask(connection, due);
  });
}

export async function runTask(environment: TaskEnvironment, task: TaskName): Promise<void> {
  await TASKS[task](environment);
}

/**
 * Does a task shop by shop: one that fails keeps none of the others from it, and has its next chance with the next task.
 * However many fail, such as all shops of a lost node, the log has one line with the first of them.
 */
async function forEachShop(
  environment: TaskEnvironment,
  task: TaskName,
  act: (environment: TaskEnvironment, place: ShopAddressRow) => Promise<void>,
): Promise<void> {
  let failed = 0;
  let first: { shop: string; err: unknown } | null = null;
  for await (const place of listShops(environment.database)) {
    try {
      await act(environment, place);
    } catch (error) {
      failed += 1;
      first ??= { shop: place.shop_domain, err: error };
    }
  }
  if (first === null) return;
  environment.log.error(
    { task, failed_shops: failed, ...first },
    "a task failed for some shops; the next one makes up for it",
  );
}

async function evaluate(
  { database, now }: TaskEnvironment,
  { shop_key: shopKey }: ShopAddressRow,
): Promise<void> {
  if ((await findStop(database, shopKey)) !== null) return;
  await evaluateAlerts({ database, shopKey, now: now() });
}

/** First what belongs to the installation and to people, then every shop. */
async function keepInOrder(environment: TaskEnvironment): Promise<void> {
  const { database, now, retention } = environment;
  const [first] = await Promise.allSettled([deleteOldOfInstallation(database, retention, now())]);
  await forEachShop(environment, "upkeep", keepShopInOrder);
  if (first.status === "rejected") throw first.reason;
}

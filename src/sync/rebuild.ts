import type { OrderRules } from "../metrics/order-rules.ts";
import type { Connection, Database } from "../store/database.ts";
import { planForRun } from "../store/query.ts";
import { listNamedProducts, listNamedSkus } from "../store/queries/catalogue.ts";
import {
  keepProjected,
  listCohortMonths,
  listDirtyMonths,
  listWorkspacesToRebuild,
  markMonths,
  needsProjection,
} from "../store/queries/dirty-month.ts";
import { removeAllFacts } from "../store/queries/facts.ts";
import { lockWorkspace } from "../store/queries/import-stage.ts";
import { listAllLabels } from "../store/queries/label-write.ts";
import { openStoredOrders } from "../store/queries/order-document.ts";
import { followOrderRules } from "../store/queries/order-rules.ts";
import { findCurrency, raiseDataVersion } from "../store/queries/publish.ts";
import { rebuildCohorts, rebuildDirtyCohorts } from "./apply.ts";
import { deriveCatalogue } from "./catalogue.ts";
import { addAll, addLabelKeys, newChangedKeys, type ChangedKeys } from "./changed-keys.ts";
import { splitLabels } from "./labels.ts";
import { loadRules } from "./order-rules.ts";
import { inPortions } from "./portions.ts";
import { openFactWriter } from "./project.ts";
import { readStored } from "./stored-document.ts";

/**
 * Recomputes everything after the order documents, labels and catalogue rows of a workspace, in the caller's
 * transaction: reads see the old rows until it ends. Returns the new data version.
 */
export async function rebuildWorkspace(connection: Connection, shopKey: number): Promise<number> {
  await lockWorkspace(connection, shopKey);
  await planForRun(connection, "large");
  const oldMonths = await listCohortMonths(connection, shopKey);
  const changedKeys = newChangedKeys();
  await addWholeCatalogue(connection, shopKey, changedKeys);
  addLabelKeys(changedKeys, await listAllLabels(connection, shopKey));
  await removeAllFacts(connection, shopKey);
  const { wanted: rules } = await loadRules(connection, shopKey);
  await projectStoredOrders(connection, shopKey, changedKeys, rules);
  await addWholeCatalogue(connection, shopKey, changedKeys);
  await deriveCatalogue(connection, shopKey, changedKeys);
  await splitLabels(connection, shopKey, await findCurrency(connection, shopKey), "large", changedKeys);
  await markMonths(connection, shopKey, [...changedKeys.months]);
  await rebuildCohorts(connection, shopKey, oldMonths);
  await rebuildDirtyCohorts(connection, shopKey);
  await followOrderRules(connection, shopKey, rules);
  await keepProjected(connection, shopKey);
  return raiseDataVersion(connection, shopKey);
}

/**
 * Projects the facts and rolls up the months that a migration marked: it cannot fill `cohort` without the facts. Does
 * nothing where nothing is marked, which is so whenever no run is under way.
 */
export async function rebuildMarkedWorkspaces(
  database: Database,
  log: (line: string) => void,
): Promise<void> {
  for (const shopKey of await listWorkspacesToRebuild(database)) {
    log(`Recomputing the rollups of workspace ${shopKey} for this version.`);
    await database.transaction(async (connection) => {
      if (await needsProjection(connection, shopKey)) {
        await rebuildWorkspace(connection, shopKey);
        return;
      }
      await lockWorkspace(connection, shopKey);
      const months = await listDirtyMonths(connection, shopKey);
      if (months.length === 0) return;
      await planForRun(connection, "large");
      await rebuildCohorts(connection, shopKey, months);
      await raiseDataVersion(connection, shopKey);
    });
  }
}

async function addWholeCatalogue(
  connection: Connection,
  shopKey: number,
  changedKeys: ChangedKeys,
): Promise<void> {
  addAll(changedKeys.products, await listNamedProducts(connection, shopKey));
  addAll(changedKeys.skus, await listNamedSkus(connection, shopKey));
}

async function projectStoredOrders(
  connection: Connection,
  shopKey: number,
  changedKeys: ChangedKeys,
  rules: OrderRules,
): Promise<void> {
  const facts = await openFactWriter(connection, shopKey, changedKeys, rules);
  const next = await openStoredOrders(connection, shopKey);
  await inPortions(next, () => {
    const portion = facts.open();
    return {
      add: (row) => portion.add({ document: readStored(row.order_id, row.document), existed: false }),
      write: () => portion.write(),
    };
  });
  await facts.finish();
}

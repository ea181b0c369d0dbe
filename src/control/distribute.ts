import type { Database, Queryable } from "../store/database.ts";
import { CitusMissing, distributeInstallation } from "../store/distribute.ts";
import type { Distribution } from "../store/distribute.ts";
import { seesWorkers } from "../store/worker-session.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { impossible } from "./refusal.ts";

/** Distributes the tables of an installation over a Citus cluster; throws a `Refusal` where there is none. */
export async function distribute(database: Database, actor: Actor): Promise<Distribution> {
  requireRight(actor, "distribute");
  try {
    const summary = await distributeInstallation(database);
    await database.transaction((connection) =>
      recordAction(connection, actor, { shopKey: null, action: "distribute", detail: summary }),
    );
    return summary;
  } catch (error) {
    throw error instanceof CitusMissing ? impossible(error.message) : error;
  }
}

/** Throws a `Refusal` on a node of a Citus cluster: workers claim runs by locks of their own connection, which one server knows. */
export async function requireWorkerPlace(database: Queryable): Promise<void> {
  if (await seesWorkers(database)) return;
  throw impossible(
    "Workers need the coordinator of a Citus cluster: set DATABASE_URL to its address, or serve with --no-worker.",
  );
}

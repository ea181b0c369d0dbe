import type { Database } from "../store/database.ts";
import { CitusMissing, distributeInstallation } from "../store/distribute.ts";
import type { Distribution } from "../store/distribute.ts";
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

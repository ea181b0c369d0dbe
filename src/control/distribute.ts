import type { Database } from "../store/database.ts";
import { CitusMissing, distributeInstallation } from "../store/distribute.ts";
import { recordAction } from "./audit.ts";
import { impossible } from "./refusal.ts";

/** Tables that one call distributed (none when all were already), and the functions that run on their nodes. */
export type DistributionSummary = {
  distributed_tables: string[];
  reference_tables: string[];
  functions: string[];
};

/** Distributes the tables of an installation over a Citus cluster; throws a `Refusal` where there is none. */
export async function distribute(database: Database): Promise<DistributionSummary> {
  try {
    const { distributedTables, referenceTables, functions } = await distributeInstallation(database);
    const summary = {
      distributed_tables: distributedTables,
      reference_tables: referenceTables,
      functions,
    };
    await database.transaction((connection) => recordAction(connection, null, "distribute", summary));
    return summary;
  } catch (error) {
    throw error instanceof CitusMissing ? impossible(error.message) : error;
  }
}

import { openDatabase } from "../src/store/database.ts";
import type { Database } from "../src/store/database.ts";

/** One connection: read-only like the service's own, or with parallel and custom plans as PostgreSQL has them by default. */
export function openPool(url: string, { readOnly }: { readOnly: boolean }): Database {
  return openDatabase({
    url,
    maxConnections: 1,
    readOnly,
    statementTimeoutMs: 0,
    applicationName: "returns-bench",
    onConnectionError: () => {},
  });
}

import { openKeys } from "../../src/actions/installation/secrets.ts";
import type { Keys } from "../../src/lib/keys.ts";
import type { Database } from "../../src/store/database.ts";

/** The root secret of test servers. */
export const TEST_SECRET = "a secret for tests of at least 32 characters";

/** The keys of servers on this database. */
export async function openTestKeys(database: Database): Promise<Keys> {
  return openKeys({ database, dataFolder: "/nowhere", secret: TEST_SECRET });
}

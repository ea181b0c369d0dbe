import { openKeys } from "../../src/actions/installation/secrets.ts";
import type { Keys } from "../../src/lib/keys.ts";
import type { Database } from "../../src/store/database.ts";
import type { Credentials, Secrets } from "../../src/sync/connector.ts";

/** The root secret of test servers. */
export const TEST_SECRET = "a secret for tests of at least 32 characters";

/** The keys of servers on this database. */
export async function openTestKeys(database: Database): Promise<Keys> {
  return openKeys({ database, dataFolder: "/nowhere", secret: TEST_SECRET });
}

/** The secrets of a connection, kept in memory; changes happen one at a time. */
export function memoryCredentials(first: Secrets): Credentials {
  let secrets = first;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    read: async () => secrets,
    change: (change) => {
      const mine = turn.then(async () => (secrets = await change(secrets)));
      turn = mine.catch(() => {});
      return mine;
    },
  };
}

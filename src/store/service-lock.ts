import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** An advisory lock of the database, held by a connection of its own. */
export type ServiceLock = { release(): Promise<void> };

/** Any number will do that nothing else locks in this database. */
const SERVICE_LOCK = 7_382_014;
const RETRY_MS = 1000;

/**
 * Takes the lock that one serving process per database holds; null when another process has it. A connection that
 * breaks (the server died and came back) is replaced and the lock taken again.
 */
export async function takeServiceLock(url: string, log: (line: string) => void): Promise<ServiceLock | null> {
  let released = false;
  let client = await lockOnce(url);
  if (client === null) return null;
  watchConnection(client);
  return {
    release: async () => {
      released = true;
      await client?.end().catch(() => {});
    },
  };

  function watchConnection(watched: pg.Client): void {
    watched.once("end", () => void takeAgain());
  }

  async function takeAgain(): Promise<void> {
    for (;;) {
      await sleep(RETRY_MS, undefined, { ref: false });
      if (released) return;
      const next = await lockOnce(url).catch(() => undefined);
      if (next === undefined) continue;
      if (next === null) log("Another process serves this data folder now.");
      client = next;
      if (next !== null) watchConnection(next);
      return;
    }
  }
}

async function lockOnce(url: string): Promise<pg.Client | null> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "returns-service-lock",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  // Without a listener, a broken connection would end the process.
  client.on("error", () => {});
  await client.connect();
  const answer = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
    SERVICE_LOCK,
  ]);
  if (answer.rows[0]?.taken === true) return client;
  await client.end();
  return null;
}

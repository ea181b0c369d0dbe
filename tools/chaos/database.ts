import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinEmbedded } from "../../src/embedded/embedded.ts";
import type { Database } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createTestLogins, openConnections } from "../../tests/support/database.ts";

/** Whether what is promised held under one fault, and what was seen. */
export type Finding = { name: string; held: boolean; observed: string };

/** `observed`, followed by the problems, if any. */
export function findingOf(name: string, observed: readonly string[], problems: readonly string[]): Finding {
  return { name, held: problems.length === 0, observed: [...observed, ...problems].join("; ") };
}

/** Runs `work` on a separate, migrated embedded PostgreSQL, which is deleted afterwards. */
export async function withDatabase<Result>(
  log: (line: string) => void,
  work: (own: { url: string; database: Database }) => Promise<Result>,
): Promise<Result> {
  const dataFolder = mkdtempSync(join(tmpdir(), "returns-chaos-"));
  const embedded = await joinEmbedded({ dataFolder, log });
  try {
    const { url } = embedded;
    await createTestLogins(url);
    await migrate({ url });
    const database = openConnections(url, { maxConnections: 4, applicationName: "returns-control" });
    try {
      return await work({ url, database });
    } finally {
      await database.close();
    }
  } finally {
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

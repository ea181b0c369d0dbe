import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { knownMigrations } from "../../src/store/migrate.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import type { Finding } from "../finding.ts";
import { undisturbed } from "./faults.ts";
import { PROJECT } from "./fleet.ts";
import type { Scene } from "./scene.ts";

/** What a later version might add, which this one works with: a column of a table of shops, and a table of its own. */
const migrationAfter = (last: string): string => `-- Works with ${last}.
alter table workspace add column chaos_note text;
create table chaos_note (
  shop_key bigint not null references workspace on delete cascade,
  note text not null,
  primary key (shop_key, note)
);
`;

/** Folders with code; the others are linked. */
const COPIED: ReadonlySet<string> = new Set(["src", "tests"]);

/** A newer version, with one migration more, takes this one's place process by process. */
export async function upgradeRolling(scene: Scene): Promise<Finding> {
  const checkout = mkdtempSync(join(tmpdir(), "returns-chaos-version-"));
  try {
    for (const part of readdirSync(PROJECT)) {
      if (COPIED.has(part)) cpSync(join(PROJECT, part), join(checkout, part), { recursive: true });
      else symlinkSync(join(PROJECT, part), join(checkout, part));
    }
    const last = (await knownMigrations()).at(-1) ?? "";
    writeFileSync(join(checkout, "src/store/migrations/9999_chaos_note.sql"), migrationAfter(last));
    return await undisturbed(scene, "a rolling upgrade across a migration", () =>
      replaceAll(scene, checkout),
    );
  } finally {
    // What its processes run is loaded already.
    rmSync(checkout, { recursive: true, force: true });
  }
}

/** Old servers answer on the new schema until a new one takes requests beside them. */
async function replaceAll({ cluster, fleet }: Scene, checkout: string): Promise<string> {
  const [oldServers, oldWorkers] = [[...fleet.servers], [...fleet.workers]];
  await migrateWith(checkout, cluster.url);
  for (const old of oldServers) {
    await fleet.addServer(checkout);
    await old.stop();
  }
  for (const old of oldWorkers) {
    await fleet.addWorker(checkout);
    await old.stop();
  }
  return `${oldServers.length} servers and ${oldWorkers.length} workers replaced`;
}

async function migrateWith(checkout: string, databaseUrl: string): Promise<void> {
  const main = join(checkout, "src/cli/main.ts");
  const child = spawn(process.execPath, [main, "migrate", "--distribute"], {
    env: { PATH: process.env["PATH"], ...serviceEnvironment(databaseUrl) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  if (code !== 0) throw new Error(`migrate ended with ${code}: ${said}`);
}

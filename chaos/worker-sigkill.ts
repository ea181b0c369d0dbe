import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinEmbedded } from "../src/embedded/embedded.ts";
import { migrate } from "../src/store/migrate.ts";
import { countRows } from "../tests/support/served-rows.ts";
import { killProblems, killWorkers } from "../tests/support/worker-kill.ts";
import type { Finding } from "./finding.ts";
import { openConnections, createTestLogins } from "../tests/support/database.ts";

const KILLS = 50;
const ORDERS = 3000;

/** SIGKILL of a worker at random points of backfills and incremental runs; its rows beside those of a quiet one. */
export async function run(log: (line: string) => void): Promise<Finding[]> {
  const dataFolder = mkdtempSync(join(tmpdir(), "returns-chaos-"));
  const embedded = await joinEmbedded({ dataFolder, log });
  await createTestLogins(embedded.url);
  await migrate({ url: embedded.url });
  const database = openConnections(embedded.url, { maxConnections: 4, applicationName: "returns-control" });
  try {
    const control = { database, url: embedded.url };
    const report = await killWorkers({ control, orders: ORDERS, kills: KILLS, log });
    const problems = killProblems(report);
    const rows = countRows(report.undisturbed);
    const observed = `${report.killsInRun} of ${KILLS} kills within a run; ${rows.toLocaleString("en")} rows compared`;
    return [
      {
        name: `worker killed ${KILLS} times: the same rows, each effect once, one run at a time`,
        held: problems.length === 0,
        observed: [observed, ...problems].join("; "),
      },
    ];
  } finally {
    await database.close();
    await embedded.release();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

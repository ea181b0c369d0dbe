/**
 * npm run chaos [-- <part>…]: causes the faults of the operating guide and prints what held.
 * Exit code 1 when something did not.
 */
import { formatTable } from "../../src/lib/table.ts";
import { missingCitus } from "./citus/cluster.ts";
import { run as breakCluster } from "./citus/part.ts";
import { breakDatabase } from "./database-away.ts";
import type { Finding } from "./database.ts";
import { run as sendLargeUpload } from "./large-upload.ts";
import { runSuites } from "./suites.ts";
import { killWorkersAtRandom, takeDatabaseFromWorker } from "./workers.ts";

type Part = {
  name: string;
  does: string;
  /** What it needs that is not given, as a sentence; null = nothing. */
  missing?: () => string | null;
  run: (log: (line: string) => void) => Promise<Finding[]>;
};

const PARTS: readonly Part[] = [
  { name: "suites", does: "runs the tests that cause faults: quota race, inputs, tenants", run: runSuites },
  { name: "database", does: "takes the database from a server under load", run: breakDatabase },
  {
    name: "worker-database",
    does: "the same to a worker during a backfill; compares its rows",
    run: takeDatabaseFromWorker,
  },
  {
    name: "worker-kill",
    does: "kills workers at random points of their runs (SIGKILL)",
    run: killWorkersAtRandom,
  },
  {
    name: "upload",
    does: "sends 2 GB by the console and imports it; tells the memory of both",
    run: sendLargeUpload,
  },
  {
    name: "citus",
    does: "takes nodes from a Citus cluster whose address is given, moves shards, upgrades; compares its rows",
    missing: missingCitus,
    run: breakCluster,
  },
];

const USAGE = `npm run chaos [-- <part>…]

  Causes faults on databases of its own and prints what held; exit code 1 when something did not.
  Without a part all run, about twenty minutes:
${PARTS.map(({ name, does }) => `  ${name.padEnd(16)} ${does}\n`).join("")}`;

const wanted = process.argv.slice(2);
if (wanted.includes("--help") || wanted.includes("-h")) {
  process.stdout.write(USAGE);
  process.exit(0);
}
if (!wanted.every((word) => PARTS.some(({ name }) => name === word))) {
  process.stderr.write(USAGE);
  process.exit(2);
}
const parts = PARTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const findings: Finding[] = [];
for (const part of parts) {
  const missing = part.missing?.() ?? null;
  if (missing === null) findings.push(...(await part.run((line) => console.error(`… ${line}`))));
  else {
    console.error(`… not run: ${missing}`);
    if (wanted.length > 0) process.exit(2);
  }
}
const rows = findings.map(({ name, held, observed }) => [held ? "held" : "BROKEN", name, observed]);
process.stdout.write(formatTable(["outcome", "fault", "observed"], rows));
process.exitCode = findings.every(({ held }) => held) ? 0 : 1;

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Finding } from "./database.ts";

const TEST_RUNNER = join(import.meta.dirname, "../../scripts/test.ts");

/** Faults that tests cause, and what takes them too long; here they are told beside the long ones. */
const SUITES: readonly { name: string; files: readonly string[] }[] = [
  { name: "quota race: 100 left, 500 at once, 3 servers; midnight", files: ["tests/quota.pg.test.ts"] },
  {
    name: "connections killed, reset or silent, SIGTERM under load",
    files: ["tests/faults.pg.test.ts", "tests/database-away.pg.test.ts"],
  },
  {
    name: "generated and corpus inputs, over REST and as arguments of tools",
    files: [
      "tests/unknown-names.pg.test.ts",
      "tests/mcp-arguments.pg.test.ts",
      "tests/mcp-transport.pg.test.ts",
    ],
  },
  { name: "every byte of a cursor flipped", files: ["tests/cursors.pg.test.ts"] },
  {
    name: "server and worker killed at each step of an upload",
    files: ["tests/uploads-killed.pg.test.ts"],
  },
  {
    name: "from an empty folder to the first chart, by clicks",
    files: ["tests/console-onboarding-browser.pg.test.ts"],
  },
  { name: "a year of a real shop, from CSV to served answers", files: ["tests/online-retail.pg.test.ts"] },
  {
    name: "a store that is exported and imported elsewhere, a data folder that is copied",
    files: ["tests/export-roundtrip.pg.test.ts", "tests/cold-copy.pg.test.ts"],
  },
  { name: "shops with too many requests at once", files: ["tests/busy-workspaces.pg.test.ts"] },
  { name: "a rolling upgrade across a migration", files: ["tests/migration-rolling.pg.test.ts"] },
  { name: "uploads of webhooks held open, and many of them", files: ["tests/webhook-flood.pg.test.ts"] },
  { name: "tenants never meet", files: ["tests/tenants.pg.test.ts"] },
  {
    name: "sources: timeouts, 429, 5xx, truncated and duplicated data, changed types",
    files: ["tests/shopify-faults.pg.test.ts", "tests/label-sources"],
  },
];

/** Runs the test files of each fault and tells how many of their tests passed. */
export async function runSuites(log: (line: string) => void): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, files } of SUITES) {
    log(name);
    const child = spawn(process.execPath, [TEST_RUNNER, ...files], { stdio: ["ignore", "pipe", "ignore"] });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    const count = (word: string): number =>
      Number(new RegExp(`^ℹ ${word} (\\d+)`, "mu").exec(output)?.[1] ?? 0);
    const [passed, failed] = [count("pass"), count("fail")];
    findings.push({
      name,
      held: code === 0 && passed > 0,
      observed: `${passed} tests passed, ${failed} failed`,
    });
  }
  return findings;
}

/**
 * Runs the tests: npm test [-- <file, folder, glob or part of a path>… <options of node --test>…]
 * and those that take long, one after the other: npm run chaos [-- <the same>…]
 * Tests that need PostgreSQL get one embedded server, or the one named by RETURNS_TEST_DATABASE_URL; those in a browser
 * need Chromium, whose build without windows is installed where it is missing, and those of alerting rules promtool, which is fetched.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join, matchesGlob } from "node:path";
import { pathToFileURL } from "node:url";
import { joinEmbedded } from "../src/embedded/embedded.ts";
import { OWNER, ownerMark, removeLeftovers } from "../src/lib/leftovers.ts";
import { createTemplate } from "../tests/support/database.ts";
import { installChromium } from "../tests/support/install-chromium.ts";
import { fetchPromtool } from "../tests/support/promtool.ts";

const project = dirname(import.meta.dirname);
const fastSettings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  shared_buffers: "128MB",
  max_connections: "200",
  // To hash a password 4,096 times, as a new connection does, takes both ends milliseconds.
  scram_iterations: "1",
};

/** Run when they are named, and by `npm run chaos`; all other tests together take less than a quarter of an hour. */
const LEFT_TO_CHAOS: ReadonlySet<string> = new Set([
  "tests/busy-workspaces.pg.test.ts",
  "tests/citus-faults.pg.test.ts",
  "tests/cold-copy.pg.test.ts",
  "tests/console-onboarding-browser.pg.test.ts",
  "tests/database-away.pg.test.ts",
  "tests/export-roundtrip.pg.test.ts",
  "tests/faults.pg.test.ts",
  "tests/migration-rolling.pg.test.ts",
  "tests/online-retail.pg.test.ts",
  "tests/uploads-killed.pg.test.ts",
  "tests/uploads-large.pg.test.ts",
  "tests/webhook-flood.pg.test.ts",
  "tests/worker-database-away.pg.test.ts",
  "tests/worker-sigkill.pg.test.ts",
]);

/** CI draws the same values each time, so that a change fails by what it changed; `npm test` draws new ones. */
const CI_SEED = "20261124";

/** Files are kept in memory there on Linux; containers often have no room in it. */
const MEMORY = "/dev/shm";
const LEAST_ROOM_BYTES = 4 * 1024 ** 3;

let child: ChildProcess | undefined;
let stopSignal: NodeJS.Signals | undefined;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stopSignal ??= signal;
    child?.kill("SIGTERM");
  });
}
async function main(args: string[]): Promise<number> {
  const isChaos = args.includes("--chaos");
  const options = args.filter((argument) => argument.startsWith("-") && argument !== "--chaos");
  const patterns = args.filter((argument) => !argument.startsWith("-"));
  const files = chooseFiles(patterns, isChaos);
  if (files.length === 0) {
    console.error(`No test file matches ${patterns.join(" ")}.`);
    return 1;
  }
  if (isChaos) {
    process.env["RETURNS_TEST_CHAOS"] = "1";
    return runFiles(files, ["--test-concurrency=1", ...options]);
  }
  if (patterns.length > 0) return runFiles(files, options);
  return withProcesses(files, (entries) =>
    runFiles(entries, [`--test-concurrency=${PROCESSES}`, ...options], files),
  );
}

/** `chosen`: the test files that the entries to run stand for. */
async function runFiles(
  entries: string[],
  options: string[],
  chosen: readonly string[] = entries,
): Promise<number> {
  if (chosen.some((file) => file.endsWith("browser.pg.test.ts"))) {
    const missing = installChromium();
    if (missing !== null) console.error(`${missing} The tests in a browser are skipped.`);
  }
  if (chosen.some((file) => file.includes("on-call"))) {
    const missing = fetchPromtool();
    if (missing !== null) console.error(`${missing} The tests of alerting rules by Prometheus are skipped.`);
  }
  if (!chosen.some((file) => file.endsWith(".pg.test.ts"))) return run(entries, options, undefined);
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"];
  if (serverUrl === undefined) return runOnEmbedded(entries, options);
  return runOn(serverUrl, entries, options);
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= LEAST_ROOM_BYTES;
  } catch {
    return false;
  }
}

/** The tests of the whole service first: they take longest, and all processes end at about the same time if short ones are last. */
function chooseFiles(patterns: string[], isChaos: boolean): string[] {
  const found = ["tests", "src"].flatMap((folder) =>
    globSync(`${folder}/**/*.test.ts`, { cwd: project }).toSorted(),
  );
  const all = isChaos ? found.filter((file) => LEFT_TO_CHAOS.has(file)) : found;
  if (patterns.length === 0 && isChaos) return all;
  if (patterns.length === 0) {
    for (const file of LEFT_TO_CHAOS) console.error(`${file} is left to npm run chaos: it takes long.`);
    return all.filter((file) => !LEFT_TO_CHAOS.has(file));
  }
  return all.filter((file) =>
    patterns.some((pattern) => file.includes(pattern.replace(/^\.\//, "")) || matchesGlob(file, pattern)),
  );
}

/** Of a run that was killed; a server without its files ends itself within a minute. */
const DATABASE_FOLDER = new RegExp(`^returns-test-${OWNER}$`, "u");

/** In memory where that has room: a copy of the database is 600 files, which take a disk ten times as long to write. */
async function runOnEmbedded(files: string[], options: string[]): Promise<number> {
  for (const parent of [MEMORY, tmpdir()]) await removeLeftovers(parent, DATABASE_FOLDER);
  const dataFolder = join(hasRoom(MEMORY) ? MEMORY : tmpdir(), `returns-test-${ownerMark()}`);
  mkdirSync(dataFolder, { mode: 0o700 });
  try {
    const database = await joinEmbedded({ dataFolder, log: console.error, settings: fastSettings });
    try {
      return await runOn(database.url, files, options);
    } finally {
      await database.release();
    }
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

async function runOn(serverUrl: string, files: string[], options: string[]): Promise<number> {
  await createTemplate(serverUrl);
  return run(files, options, serverUrl);
}

/** Resolves to the exit code of the test run. */
function run(files: string[], options: string[], serverUrl: string | undefined): Promise<number> {
  if (stopSignal !== undefined) return Promise.resolve(128 + constants.signals[stopSignal]);
  const seed = process.env["RETURNS_TEST_SEED"] ?? (process.env["CI"] === "true" ? CI_SEED : undefined);
  const seeded = seed === undefined ? [] : [`--import=${project}/tests/support/property-seed.ts`];
  // Most objects of a test die young: collecting them less often takes a tenth less processor time.
  const node = ["--max-semi-space-size=64", "--test", "--test-reporter=spec", "--test-concurrency=4"];
  const runner = [...node, ...seeded, ...options, ...files];
  const environment = {
    ...(serverUrl === undefined ? {} : { RETURNS_TEST_DATABASE_URL: serverUrl }),
    ...(seed === undefined ? {} : { RETURNS_TEST_SEED: seed }),
  };
  const started = spawn(process.execPath, runner, {
    cwd: project,
    env: { ...process.env, ...environment },
    stdio: "inherit",
  });
  child = started;
  return new Promise((resolve, reject) => {
    started.on("error", reject);
    started.on("exit", (code, signal) => {
      const cause = stopSignal ?? signal;
      resolve(cause === null ? (code ?? 1) : 128 + constants.signals[cause]);
    });
  });
}

/** More than two cores: a test often waits for a database, a browser or another process. */
const PROCESSES = 5;
/** What the files of a process share. */
const SHARED = ["scene.ts", "shared-service.ts", "chromium.ts"];

/**
 * Calls `use` with one entry for each process. A process takes one file after another until none is left: to start Node.js, a
 * service and a browser takes longer than the tests of most files. Each file is a separate suite with its own hooks.
 */
async function withProcesses<Result>(
  files: readonly string[],
  use: (entries: string[]) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "returns-test-files-"));
  try {
    const entries = Array.from({ length: PROCESSES }, (_, index) =>
      join(folder, `process-${index}.test.mjs`),
    );
    for (const entry of entries) writeFileSync(entry, entryOf(files));
    return await use(entries);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A process takes a file by making a folder, which only one of them can. */
function entryOf(files: readonly string[]): string {
  const addressOf = (file: string): string => pathToFileURL(join(project, file)).href;
  // What files share is loaded before them: it would belong to the suite of the first of them otherwise, and end with it.
  const shared = SHARED.map((file) => `import ${JSON.stringify(addressOf(`tests/support/${file}`))};\n`);
  return `${shared.join("")}import { mkdirSync } from "node:fs";
import { after, suite } from "node:test";
for (const [index, [file, address]] of ${JSON.stringify(files.map((file) => [file, addressOf(file)]))}.entries()) {
  if (mkdirSync(new URL("taken-" + index, import.meta.url), { recursive: true }) === undefined) continue;
  await new Promise((done) => {
    suite(file, async () => {
      after(done);
      await import(address);
    });
  });
}
`;
}

process.exitCode = await main(process.argv.slice(2));

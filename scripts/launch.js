// Starts an entry of this project on its own Node.js, after installing the packages when they are missing.
// Plain JavaScript without packages, because it runs on whatever Node.js (20 or newer) the machine has.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { installOnce } from "./launch/install.js";
import { hasAllPackages, isInstalled, isNodeDamaged } from "./launch/installed.js";
import { isRunningNodeNewEnough, neededMajor, packagedNode, tryOut } from "./launch/packaged-node.js";
import { fail, modules, platform, project } from "./launch/project.js";
import { listenForSignals, passSignalsTo } from "./launch/signals.js";

async function main([entry, ...args]) {
  if (entry === undefined) fail("Usage: node scripts/launch.js <entry.ts> [arguments…]");
  if (Number(process.versions.node.split(".")[0]) < 20) {
    fail(`Node.js 20 or newer is needed to start this; this is ${process.version}.`);
  }
  listenForSignals();
  // The service itself runs without the packages for tests, benchmarks and checks.
  const packages = entry.startsWith("src/") ? "runtime" : "all";
  if (!isInstalled(packages)) {
    await installOnce(packages, {
      isNeeded: () => !isInstalled(packages),
      keepsRuntime: isInstalled("runtime"),
    });
  }
  run(await chooseNode(packages), [resolve(project, entry), ...args]);
}

/** The packaged Node.js, installed again where it was damaged; else the one that runs this, if it is new enough. */
async function chooseNode(packages) {
  const absent = { problem: `There is no packaged Node.js for ${platform}`, mayBeDamaged: false };
  const hasPackaged = packagedNode !== undefined && existsSync(packagedNode);
  let failure = hasPackaged ? tryOut(packagedNode) : absent;
  if (failure?.mayBeDamaged && isNodeDamaged()) {
    process.stderr.write("The packaged Node.js is damaged.\n");
    await installOnce(hasAllPackages() ? "all" : packages, {
      isNeeded: isNodeDamaged,
      keepsRuntime: false,
    });
    failure = existsSync(packagedNode) ? tryOut(packagedNode) : absent;
  }
  if (failure === null) return packagedNode;
  if (isRunningNodeNewEnough()) return process.execPath;
  return fail(
    `${failure.problem}, or start this with Node.js ${neededMajor()} or newer (this is ${process.version}).`,
  );
}

/**
 * Compiled code is cached beside the packages: a start is faster and does not load the compiler. For `serve` the young
 * generation is large, so that most objects of requests are collected in it, and a full garbage collection, during which
 * requests wait, runs only once the heap has doubled. After its start it releases the memory of the start.
 */
function run(node, args) {
  const serves = args[1] === "serve";
  const flags = serves
    ? [
        "--max-semi-space-size=16",
        "--heap-growing-percent=100",
        "--expose-gc",
        "--disable-warning=ExperimentalWarning",
      ]
    : [];
  const environment = {
    NODE_COMPILE_CACHE: join(modules, ".cache", "node"),
    ...(serves ? { MALLOC_ARENA_MAX: "2" } : {}),
    ...process.env,
  };
  const child = spawn(node, [...flags, ...args], { stdio: "inherit", env: environment });
  passSignalsTo(child);
  child.on("error", (error) => fail(`Node.js did not start: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

await main(process.argv.slice(2));

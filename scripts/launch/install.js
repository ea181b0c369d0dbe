// Installs the packages into a folder beside those in use, and moves them over once they are whole: an installation
// that a full disk, a missing network or a kill cuts off leaves nothing behind that a start would take for sound.

import { spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hiddenLock, mark, marker } from "./installed.js";
import { nodeIn } from "./packaged-node.js";
import { fail, modules, project, readText } from "./project.js";
import { passSignalsTo, signalSoFar } from "./signals.js";

const lock = join(project, "node_modules.lock");
const draft = join(modules, ".new");
const lockLifetimeMs = 15 * 60_000;
/** A registry that has sent nothing by then counts as unreachable. On a busy machine npm alone takes 20 s. */
const firstAnswerMs = 45_000;
const networkErrors = /\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b/;

/**
 * Installs unless that is no longer needed, and waits for another launcher that is installing. `keepsRuntime`: a service
 * may be running on what is there, and would lose its files; only what is missing is added.
 */
export async function installOnce(packages, { isNeeded, keepsRuntime }) {
  let waiting = false;
  while (!takeLock()) {
    if (!waiting) process.stderr.write("Waiting for another start to finish installing packages…\n");
    waiting = true;
    await sleep(200);
    endOnSignal();
  }
  const problem = isNeeded() ? await install(packages, keepsRuntime) : null;
  removeLock();
  endOnSignal();
  if (problem !== null) fail(problem);
}

function endOnSignal() {
  const signal = signalSoFar();
  if (signal !== undefined) process.exit(128 + constants.signals[signal]);
}

function takeLock() {
  try {
    mkdirSync(lock);
  } catch (error) {
    if (error.code !== "EEXIST") fail(refusal(error));
    removeStaleLock();
    return false;
  }
  try {
    writeFileSync(join(lock, "pid"), String(process.pid));
    return true;
  } catch (error) {
    removeLock();
    return fail(refusal(error));
  }
}

function removeLock() {
  rmSync(lock, { recursive: true, force: true });
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

/** Resolves to null, or to the sentence that says why nothing was installed. */
async function install(packages, keepsRuntime) {
  process.stderr.write(
    `Installing ${keepsRuntime ? "development packages for this command" : "packages"}…\n`,
  );
  try {
    prepareDraft();
    const problem = await runNpm(packages);
    if (problem !== null || signalSoFar() !== undefined) return problem;
    putInPlace(keepsRuntime);
    mark(packages);
    return null;
  } catch (error) {
    return refusal(error);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function prepareDraft() {
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) {
    if (existsSync(join(project, name))) copyFileSync(join(project, name), join(draft, name));
  }
}

async function runNpm(packages) {
  const [command, ...prefix] = findNpm();
  const which = packages === "all" ? "--include=dev" : "--omit=dev";
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=http"];
  const retries = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=3000"];
  const args = [
    ...prefix,
    "ci",
    "--ignore-scripts",
    `--prefix=${draft}`,
    which,
    "--include=optional",
    ...quiet,
    ...retries,
  ];
  const child = spawn(command, args, {
    cwd: draft,
    env: npmEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  passSignalsTo(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  let timer;
  const ended = await new Promise((done) => {
    timer = setTimeout(() => {
      if (!/npm http fetch GET \d+/.test(output) && !hasUnpacked()) done("silence");
    }, firstAnswerMs);
    child.on("error", (error) => done(error.message));
    child.on("close", (code, signal) => done(code ?? signal));
  });
  clearTimeout(timer);
  if (ended === "silence") child.kill("SIGKILL");
  return problemOf(ended, output);
}

/** Whether anything has come out of npm's cache. */
function hasUnpacked() {
  const staged = join(draft, "node_modules");
  return (
    existsSync(staged) && listPackages(staged).some((name) => existsSync(join(staged, name, "package.json")))
  );
}

/**
 * npm calls it a success when a file could not be written (TAR_ENTRY_ERROR), or when a package that may be missing on
 * some platforms could not be fetched.
 */
function problemOf(ended, output) {
  if (/\b(ENOSPC|EDQUOT)\b/.test(output)) return refusal(new Error("the disk is full"));
  const unwritten = /TAR_ENTRY_ERROR (.*)/.exec(output)?.[1];
  if (unwritten !== undefined) return refusal(new Error(unwritten));
  const networkError = networkErrors.exec(output)?.[1];
  const isWithoutNode = !existsSync(nodeIn(join(draft, "node_modules")) ?? draft);
  if (ended === "silence" || (networkError !== undefined && (ended !== 0 || isWithoutNode))) {
    return unreachable(networkError ?? "no answer", output);
  }
  if (ended === 0) return null;
  const lines = output.split("\n").filter((line) => !line.startsWith("npm http "));
  return `${lines.join("\n").trim()}\nInstalling the packages with "npm ci" failed (${ended}).`;
}

function unreachable(reason, output) {
  const registry = /https?:\/\/[^/\s]+/.exec(output)?.[0] ?? "the package registry";
  return (
    `The packages have to be fetched once, and ${registry} cannot be reached (${reason}): ` +
    "check the network, or npm's registry and proxy settings."
  );
}

function refusal(error) {
  const reason = /^(ENOSPC|EDQUOT)$/.test(error.code) ? "the disk is full" : error.message;
  return `Packages cannot be installed in ${project}: ${reason.replace(/\.$/, "")}.`;
}

/** Packages are exchanged one by one, each at once; the records that call them installed come last. */
function putInPlace(keepsRuntime) {
  const staged = join(draft, "node_modules");
  for (const record of [marker, hiddenLock]) rmSync(record, { force: true });
  // npm would put it before the system's: a start must not depend on it.
  rmSync(join(staged, ".bin", "node"), { force: true });
  rmSync(join(modules, ".bin"), { recursive: true, force: true });
  const wanted = listPackages(staged);
  if (!keepsRuntime) {
    const kept = new Set(wanted);
    for (const name of listPackages(modules)) if (!kept.has(name)) removeFrom(modules, name);
  }
  for (const name of wanted) {
    if (keepsRuntime && existsSync(join(modules, name))) continue;
    removeFrom(modules, name);
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    renameSync(join(staged, name), join(modules, name));
  }
  renameSync(join(staged, ".package-lock.json"), hiddenLock);
}

/** Names as packages have them, with the scope; of what begins with a dot only the folder of commands. */
function listPackages(folder) {
  return readdirSync(folder).flatMap((name) => {
    if (name.startsWith("@")) return readdirSync(join(folder, name)).map((part) => `${name}/${part}`);
    return name.startsWith(".") && name !== ".bin" ? [] : [name];
  });
}

function removeFrom(folder, name) {
  rmSync(join(folder, name), { recursive: true, force: true });
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
  throw new Error("npm is needed, and it is not on the PATH");
}

/** The inner npm must not take the outer one's script for its own, nor run on a Node.js that it is about to replace. */
function npmEnvironment() {
  const environment = { ...process.env };
  for (const name of Object.keys(environment)) {
    if (/^npm_(lifecycle|package|command|config_local_prefix)/.test(name)) delete environment[name];
  }
  const folders = (environment.PATH ?? "").split(delimiter);
  environment.PATH = folders
    .filter((folder) => !folder.endsWith(join("node_modules", ".bin")))
    .join(delimiter);
  return environment;
}

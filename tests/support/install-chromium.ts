import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Chromium without windows, Debian's `chromium-headless-shell`: the same rendering in a third of the processor time. */
const SHELL = "/usr/lib/chromium/chromium-headless-shell";
const PLACES = [SHELL, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const INSTALL_TIMEOUT_MS = 300_000;

/** Where the machine's Chromium is; undefined = it has none. */
export function findChromium(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/**
 * Installs Debian's Chromium if there is none, or only one with windows, and installing is allowed; returns why there is still none,
 * null = there is one. Not for test files, which run in parallel: the file exists long before the program can run.
 */
export function installChromium(): string | null {
  const found = findChromium();
  if (found === SHELL) return null;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    return found === undefined ? "There is no Chromium, and installing one takes root and apt-get." : null;
  }
  const options = { encoding: "utf8", timeout: INSTALL_TIMEOUT_MS } as const;
  if (found === undefined) spawnSync("apt-get", ["update", "-qq"], options);
  const install = ["install", "-y", "-qq", "--no-install-recommends", "chromium-headless-shell"];
  // A mirror that does not answer must not hold up the tests.
  const limits = [
    "-o",
    "DPkg::Lock::Timeout=120",
    "-o",
    "Acquire::http::Timeout=20",
    "-o",
    "Acquire::Retries=1",
  ];
  const { stderr } = spawnSync("apt-get", [...limits, ...install], options);
  if (findChromium() !== undefined) return null;
  return `There is no Chromium, and apt-get cannot install it: ${stderr.trim()}`;
}

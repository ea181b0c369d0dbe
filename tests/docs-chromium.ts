import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const INSTALL_TIMEOUT_MS = 300_000;

/** A browser that does nothing of its own accord on the network. */
const LAUNCH_ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the machine's Chromium, installing Debian's where that is allowed; else says why there is none. */
export async function startChromium(): Promise<Browser | { reason: string }> {
  const found = PLACES.find((path) => existsSync(path)) ?? installChromium();
  if (typeof found === "object") return found;
  return chromium.launch({ executablePath: found, args: LAUNCH_ARGUMENTS });
}

function installChromium(): string | { reason: string } {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    return { reason: "There is no Chromium, and installing one takes root and apt-get." };
  }
  const options = { encoding: "utf8", timeout: INSTALL_TIMEOUT_MS } as const;
  spawnSync("apt-get", ["update", "-qq"], options);
  const install = ["install", "-y", "-qq", "--no-install-recommends", "chromium"];
  const { status, stderr } = spawnSync("apt-get", install, options);
  const [path = ""] = PLACES;
  if (status === 0 && existsSync(path)) return path;
  return { reason: `There is no Chromium, and apt-get cannot install it: ${stderr.trim()}` };
}

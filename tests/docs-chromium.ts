import { chromium, type Browser } from "playwright-core";
import { findChromium } from "./support/install-chromium.ts";

export const OTHER_HOST = "store.example";

/** A browser that makes no network requests unasked. */
const LAUNCH_ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Separate processes for sites and for drawing only cost time: the tested refusals are those of the service.
  "--disable-site-isolation-trials",
  "--in-process-gpu",
];

/** Starts the machine's Chromium, or says that there is none. It finds https://*.example at `httpsPort` of this machine, with any certificate. */
export async function startChromium(httpsPort?: number): Promise<Browser | { reason: string }> {
  const executablePath = findChromium();
  if (executablePath === undefined) return { reason: "There is no Chromium: see the start of npm test." };
  const hosts = [
    ...(httpsPort === undefined ? [] : [`MAP *.example:443 127.0.0.1:${httpsPort}`]),
    // A host name that resolves to this machine but is not one of its names.
    `MAP ${OTHER_HOST} 127.0.0.1`,
  ];
  const certificates = httpsPort === undefined ? [] : ["--ignore-certificate-errors"];
  const args = [...LAUNCH_ARGUMENTS, ...certificates, `--host-resolver-rules=${hosts.join(", ")}`];
  return chromium.launch({ executablePath, args });
}

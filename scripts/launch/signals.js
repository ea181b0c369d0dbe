// Passes signals on to the process that works for the launcher: the package manager first, then the entry.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const repeatedSignalMs = 1_000;

let child;
let stopSignal;

/** The signal that came, if any. */
export function signalSoFar() {
  return stopSignal;
}

/** From now on signals go to this process, and the one that came before it was there too. */
export function passSignalsTo(started) {
  child = started;
  if (stopSignal !== undefined) child.kill(stopSignal);
}

export function listenForSignals() {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) passOn(signal);
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

import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CACHE = join(import.meta.dirname, "../../node_modules/.cache/promtool");
const CACHED = join(CACHE, "promtool");
const PLACES = ["/usr/bin/promtool", "/usr/local/bin/promtool", CACHED];
const TIMEOUT_MS = 120_000;

/** Where the checker of Prometheus's rules is; undefined = this machine has none. */
export function findPromtool(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/**
 * Extracts promtool from Debian's package of Prometheus, without installing it, which would start a server. Returns why there
 * is none, null = there is one. Not for test files, which run in parallel.
 */
export function fetchPromtool(): string | null {
  if (findPromtool() !== undefined) return null;
  if (!existsSync("/usr/bin/apt-get")) return "There is no promtool, and no apt-get to fetch it.";
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "package-"));
  const run = (command: string, ...given: string[]) =>
    spawnSync(command, given, { cwd: folder, encoding: "utf8", timeout: TIMEOUT_MS });
  try {
    let download = run("apt-get", "download", "-qq", "prometheus");
    if (download.status !== 0 && process.getuid?.() === 0) {
      run("apt-get", "update", "-qq");
      download = run("apt-get", "download", "-qq", "prometheus");
    }
    const [file = ""] = globSync("*.deb", { cwd: folder });
    const unpacked = run("dpkg-deb", "-x", file, ".");
    if (file === "" || unpacked.status !== 0)
      return `There is no promtool, and apt-get cannot fetch it: ${download.stderr.trim()}`;
    renameSync(join(folder, "usr/bin/promtool"), CACHED);
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The output of promtool for these files by name; throws with it if promtool reports an error. */
export function runPromtool(args: readonly string[], files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "returns-promtool-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const { status, stdout, stderr } = spawnSync(findPromtool() ?? "promtool", args, {
      cwd: folder,
      encoding: "utf8",
      input: files["stdin"],
      timeout: TIMEOUT_MS,
    });
    if (status !== 0) throw new Error(`promtool ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
